/** The state of a relay. */
export interface RelayStatus {
  readonly state: 'stopped' | 'standby' | 'active';
  /** Position of the last event published in this turn; 0 before the first. */
  readonly position: number;
  /** Events that are read and not yet published. */
  readonly waiting: number;
  /** Age of the oldest of them; 0 when none waits. */
  readonly lagMs: number;
  /** Why it cannot go on at the moment. */
  readonly why?: string;
}
