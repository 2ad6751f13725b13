import type { JsonValue, ToolCallView } from '@countersign/contracts';
import type { Clock } from '@countersign/contracts/clock';
import type { Client } from '../ledger/client.js';
import type { Requests } from '../ledger/requests.js';
import type { WorkerLog } from '../log.js';
import type { Middleware } from './middleware.js';
import type { Question } from '../tools/tool-definition.js';
import type { UnaskedCall } from './must-ask.js';

/** The parts of the worker that an execution needs. */
export interface ExecutionPorts {
  readonly requester: Client;
  readonly resolver: Client;
  readonly requests: Pick<Requests, 'approval' | 'cancel'>;
  readonly clock: Clock;
  readonly log: WorkerLog;
  readonly resolverId: string;
  readonly leaseMs: number;
  /** For tools without a limit of their own. */
  readonly toolTimeoutMs: number;
  readonly middleware: readonly Middleware[];
  /** Asks a person from inside a running call. `ended` aborts with the end of the tool, and the question is cancelled. */
  readonly ask: (call: ToolCallView, question: Question, signal: AbortSignal, ended: AbortSignal) => Promise<JsonValue>;
  /** Aborts when the worker is asked to stop; the tools get it. */
  readonly stopping: AbortSignal;
  /** Aborts when the worker may no longer wait for an unreachable server. */
  readonly stopped: AbortSignal;
}

/** A call that may run, and what it was asked as. */
export interface ExecutionRequest extends UnaskedCall {
  /** Undefined: the worker no longer has it. The call fails. */
  readonly tool: UnaskedCall['tool'];
}
