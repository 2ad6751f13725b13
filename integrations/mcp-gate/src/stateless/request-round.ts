/** What a stateless request says about the way in which its client waits. */
export interface RequestRound {
  /** The client opens addresses for its user. */
  readonly opensUrls: boolean;
  /** The state that an earlier round of the gate gave to the client. It may be forged. */
  readonly state: string | undefined;
  readonly answers: Readonly<Record<string, unknown>>;
  /** The client takes a task in place of the result of a call. */
  readonly takesTasks: boolean;
  /** What the server may ask the client. */
  readonly capabilities: Readonly<Record<string, unknown>>;
}
