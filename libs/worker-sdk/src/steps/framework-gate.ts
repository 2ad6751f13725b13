import type { Step } from '../state.js';
import type { Worker } from '../worker-options.js';

/** Members of the requests of one run. Repeat them when the run is resumed. */
export type RunMembers = Pick<Step, 'parentCallId' | 'onBehalfOf'>;

/** The gate of one agent, as the adapter of a framework makes it. `R`: a run. `C`: the context of the tools. */
export interface FrameworkGate<R, C> {
  /** The tools for one run. Ids of calls must be unique in it. */
  readonly run: (runId: string, options?: RunMembers) => R;
  readonly worker: Worker<C>;
  readonly close: () => Promise<void>;
}
