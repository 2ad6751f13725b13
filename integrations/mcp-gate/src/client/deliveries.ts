import type { RequestId } from '@modelcontextprotocol/sdk/types.js';

/** Tells whether the replies of the gate reach the client. */
export interface Deliveries {
  /**
   * Resolves to whether the client got the reply to a request; to false as soon as the client is known to have left.
   *
   * @param sent resolves to true when the reply is handed to the wire, and to false when there will be none.
   */
  readonly of: (id: RequestId, sent: Promise<boolean>) => Promise<boolean>;
  /** The client reads messages that belong to none of its requests. */
  readonly hasStream: () => boolean;
}

/** For a wire that ends with its client, such as stdin and stdout: a reply that is sent has arrived. */
export const deliveredWhenSent: Deliveries = { of: (_, sent) => sent, hasStream: () => true };
