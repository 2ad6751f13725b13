import type { Step } from '../state.js';
import type { Worker } from '../worker-options.js';

/** Members of the requests of one run. Repeat them when the run is resumed. */
export type RunMembers = Pick<Step, 'labels' | 'parentCallId' | 'onBehalfOf'>;

/** Members of a run whose framework does not hand over its signal where it asks for an approval. */
export interface AbortableRunMembers extends RunMembers {
  /** The signal of the framework's run: code of a tool that never decides ends with it. */
  readonly signal?: AbortSignal | undefined;
}

/** The gate of one agent, as the adapter of a framework makes it. `R`: a run. `C`: the context of the tools. `M`: the options of a run. */
export interface FrameworkGate<R, C, M extends RunMembers = RunMembers> {
  /** The tools for one run. Ids of calls must be unique in it. */
  readonly run: (runId: string, options?: M) => R;
  readonly worker: Worker<C>;
  readonly close: () => Promise<void>;
}
