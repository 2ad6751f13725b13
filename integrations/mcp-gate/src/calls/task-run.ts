import type { Worker } from '@countersign/worker-sdk';
import type { ListedTool } from '../server/listed-tool.js';
import type { InnerRun } from '../server/inner-run.js';
import type { Reply } from '../wire.js';
import type { InnerStatus } from '../server/inner-status.js';

/** A tool, and the worker that waits for people and then runs it. */
export interface PreparedRun {
  readonly worker: Worker;
  readonly tool: ListedTool;
  readonly inner: InnerRun;
  readonly innerStatus: InnerStatus;
  readonly cancelling: AbortController;
  /** The labels of the approval, once the call is recorded; undefined where people were not asked. */
  askedLabels: Readonly<Record<string, string>> | undefined;
  /** The task at the inner server, when it runs the tool as one. */
  innerTaskId: string | undefined;
}

/** A call that one connection follows to its end. */
export interface TaskRun extends PreparedRun {
  /** Never rejects. */
  readonly end: Promise<Reply>;
  hasEnded: boolean;
  isCancelled: boolean;
}
