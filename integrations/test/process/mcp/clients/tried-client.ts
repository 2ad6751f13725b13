/** The command of a server, as the configuration of a client has it. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A server that the client starts, or one at an address. */
export type Place = Launch | { readonly url: string };

/** A connected client of MCP, with its defaults. */
export interface TriedClient {
  /** Returns the names of the tools. */
  readonly list: () => Promise<readonly string[]>;
  /** Returns the texts of a result, also of an error result. Rejects when the client cannot read the reply. */
  readonly call: (name: string, args: Readonly<Record<string, unknown>>) => Promise<string>;
  readonly close: () => Promise<void>;
}

/** Connects a client to a server, over stdio or HTTP. */
export type Connect = (place: Place) => Promise<TriedClient>;
