/** A broker that a test does things to from outside. */
export interface KafkaBroker {
  /** `host:port`, for a client. */
  readonly brokers: readonly string[];
  /** Ends it in order and removes its data. */
  readonly stop: () => Promise<void>;
  /** SIGKILL; its data stay. */
  readonly kill: () => Promise<void>;
  /** Restarts it on its data, after `kill` or while it runs, and waits until it responds. */
  readonly restart: () => Promise<void>;
  /** SIGSTOP: its connections stay open and it does not respond. */
  readonly pause: () => Promise<void>;
  readonly resume: () => Promise<void>;
}

export interface KafkaCluster {
  readonly brokers: readonly string[];
  readonly nodes: readonly KafkaBroker[];
  readonly stop: () => Promise<void>;
}
