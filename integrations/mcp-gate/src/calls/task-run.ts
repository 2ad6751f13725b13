import type { GateTool, Worker } from '@countersign/worker-sdk';
import type { ListedTool } from '../server/listed-tool.js';
import type { InnerRun } from '../server/inner-run.js';
import type { Reply } from '../wire.js';
import type { InnerStatus } from '../server/inner-status.js';
import type { Questions } from '../stateless/questions.js';

/** A tool, and the worker that waits for people and then runs it. */
export interface PreparedRun {
  readonly worker: Worker;
  readonly tool: ListedTool;
  readonly inner: InnerRun;
  readonly innerStatus: InnerStatus;
  readonly cancelling: AbortController;
  /** Checks the arguments of a call. */
  readonly check: GateTool['check'];
  /** Resolves when the server runs the tool as a task. */
  readonly becameTask: Promise<undefined>;
  /** The token under which the server tells the progress of the run, and asks about it. */
  readonly token: unknown;
  readonly questions: Questions;
  /** What the server may ask the client; undefined before that is known. */
  capabilities: Readonly<Record<string, unknown>> | undefined;
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
  /** `unknown` until the run has ended, and when the tool may have taken effect without a known result. */
  outcome: 'final' | 'unknown';
  isCancelled: boolean;
}
