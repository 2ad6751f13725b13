import type { Random } from '@countersign/runtime/testing';

/** The hazards of a world; a probability per occasion unless the name says otherwise. */
export interface Hazards {
  readonly latencyMsMax: number;
  /** An operation takes up to three seconds more. */
  readonly slow: number;
  /** An append: refused; lost on the way there or back; written after its sender has given up. */
  readonly appendUnavailable: number;
  readonly appendLostRequest: number;
  readonly appendLostReply: number;
  readonly appendLate: number;
  readonly readUnavailable: number;
  /** A subscription's batch: the connection breaks instead. */
  readonly subscriptionDropped: number;
  /** A read gives arguments that are not those that were recorded. */
  readonly tampered: number;
  /** A publish: its acknowledgement, or the publish itself, is lost; its messages are duplicated. */
  readonly publishLost: number;
  readonly publishUnacknowledged: number;
  readonly publishTwice: number;
  /** A message becomes visible up to two seconds later, and so do those after it in its partition. */
  readonly messageDelayed: number;
  /** A call over HTTP never arrives, or its response does not. */
  readonly httpLost: number;
  /** A process is killed when it asks something of the outside: before, or after it was done and before it hears of it. */
  readonly crashBefore: number;
  readonly crashAfter: number;
  /** It hangs for up to 30 seconds instead, and then continues. */
  readonly freezeAfter: number;
  /** The holder of a claim hangs before or while the tool runs, mostly for longer than the lease. */
  readonly zombie: number;
  /** The mean pause between two strokes of fate from outside, ms: kills, freezes, clock jumps, outages, rebalances. */
  readonly strokeEveryMs: number;
  /** The difference between the clocks of processes. */
  readonly skewMsMax: number;
}

const none: Hazards = {
  latencyMsMax: 5,
  slow: 0,
  appendUnavailable: 0,
  appendLostRequest: 0,
  appendLostReply: 0,
  appendLate: 0,
  readUnavailable: 0,
  subscriptionDropped: 0,
  tampered: 0,
  publishLost: 0,
  publishUnacknowledged: 0,
  publishTwice: 0,
  messageDelayed: 0,
  httpLost: 0,
  crashBefore: 0,
  crashAfter: 0,
  freezeAfter: 0,
  zombie: 0,
  strokeEveryMs: Infinity,
  skewMsMax: 0,
};

/**
 * The hazards of one world. Each kind is independently absent, mild or hard: a world in which everything fails at once
 * never reaches the interesting states.
 */
export function drawHazards(random: Random): { readonly faulty: Hazards; readonly healed: Hazards } {
  const some = (mostly: number): number => (random.chance(0.5) ? 0 : mostly * random.next());
  return {
    healed: none,
    faulty: {
      latencyMsMax: random.pick([2, 10, 50, 200]),
      slow: some(0.05),
      appendUnavailable: some(0.1),
      appendLostRequest: some(0.1),
      appendLostReply: some(0.15),
      appendLate: some(0.1),
      readUnavailable: some(0.05),
      subscriptionDropped: some(0.05),
      tampered: some(0.3),
      publishLost: some(0.1),
      publishUnacknowledged: some(0.15),
      publishTwice: some(0.15),
      messageDelayed: some(0.2),
      httpLost: some(0.15),
      crashBefore: some(0.01),
      crashAfter: some(0.02),
      freezeAfter: some(0.02),
      zombie: some(0.4),
      strokeEveryMs: random.pick([4_000, 10_000, 30_000]),
      skewMsMax: random.pick([0, 50, 2_000, 600_000]),
    },
  };
}
