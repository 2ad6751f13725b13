import { CountersignError, gateRemedy, withRemedy, type WorkerLog } from '@countersign/worker-sdk';

/** A call without a result. */
export interface FailedCall {
  readonly toolName: string;
  readonly toolCallId: string;
  /** The tool was started by this call, so it may have taken effect. */
  readonly hasStarted: boolean;
}

/** Tells of calls that Countersign refused, or could not be asked about: LangChain gives such an error to the model alone. */
export interface Failures {
  /** Returns the text for the model, and logs it unless its cause was logged already. */
  readonly tell: (error: unknown, call: FailedCall) => string;
  /** Countersign returned a result: the next failure is logged in any case. */
  readonly over: () => void;
}

export function createFailures(log: Pick<WorkerLog, 'error'> = consoleLog): Failures {
  const logged = new Set<string>();
  return {
    tell: (error, { toolName, toolCallId, hasStarted }) => {
      const cause = error instanceof Error ? error.message : String(error);
      const code = error instanceof CountersignError ? error.code : 'gate-error';
      const isRecorded = code === 'tool-call-mismatch';
      const remedy = isRecorded || code === 'gate-error' ? '' : gateRemedy(code);
      const text = withRemedy(`${whatOf(isRecorded, hasStarted)}: ${cause}`, remedy).trimEnd();
      if (!logged.has(cause)) log.error({ toolName, toolCallId, code }, text);
      logged.add(cause);
      return text;
    },
    over: () => {
      logged.clear();
    },
  };
}

function whatOf(isRecorded: boolean, hasStarted: boolean): string {
  if (hasStarted) return 'The tool was started, and may have taken effect';
  return isRecorded
    ? 'The call has no result: another one is recorded with its id, and may have run'
    : 'The tool did not run';
}

const consoleLog: Pick<WorkerLog, 'error'> = {
  error: (fields, message) => {
    console.error(message, fields);
  },
};
