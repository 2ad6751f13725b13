/** What another call of a step proposes, and what it did before the last changes of the person who responds. */
export interface SeenCall {
  readonly callId: string;
  readonly now: string | null;
  readonly before: string | null;
}

/**
 * What the others of a step proposed when one request of one person looked at them. Many answers *yes* share one look: whatever is changed
 * after it might as well be changed after all of them. An edit may not, since it would be compared with a call that has changed.
 */
export type SeenCalls = Map<string, Promise<SeenCall>>;
