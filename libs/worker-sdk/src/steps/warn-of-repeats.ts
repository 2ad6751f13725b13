import type { Requests } from '../ledger/requests.js';
import type { WorkerLog } from '../log.js';

/**
 * Warns when a step gets the result of an earlier one, because the ids of the model repeat. Nothing runs then, and the
 * model would take an old result for a new one.
 */
export function warningOfRepeats(toolCalls: Requests['toolCalls'], log: WorkerLog): Requests['toolCalls'] {
  return async (body, options) => {
    const views = await toolCalls(body, options);
    for (const { repeated, runId, toolCallId, callId } of views) {
      if (repeated !== true) continue;
      const remedy = 'put the step in front of the ids, such as step-7/get_weather';
      log.warn(
        { runId, toolCallId, callId, remedy },
        'an earlier step has used the id of this tool call: its result is returned',
      );
    }
    return views;
  };
}
