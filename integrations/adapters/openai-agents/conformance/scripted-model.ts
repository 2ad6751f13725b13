// A model that follows a script: it makes the calls of the first turn that the conversation does not have yet; then it says "done".
import {
  assistantMessage,
  functionCall,
  modelResponder,
  ScriptedModel,
  type RecordedModelCall,
} from '@openai/agents/testing';

export interface ScriptedCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly arguments: Record<string, unknown>;
}

/** The model, and the last conversation that it saw. */
export interface Script {
  readonly model: ScriptedModel;
  /** The results that the model was given, by call. */
  readonly told: () => Record<string, string>;
}

type Items = Exclude<RecordedModelCall['request']['input'], string>;

const callsMax = 20;

export function scriptedModel(turns: readonly (readonly ScriptedCall[])[]): Script {
  let seen: Items = [];
  const respond = ({ request }: RecordedModelCall) => {
    seen = typeof request.input === 'string' ? [] : request.input;
    const made = new Set(seen.flatMap((item) => (item.type === 'function_call' ? item.callId : [])));
    const next = turns.find((turn) => turn.some(({ toolCallId }) => !made.has(toolCallId)));
    return next === undefined
      ? [assistantMessage('done')]
      : next.map(({ toolName, toolCallId, arguments: args }) => functionCall(toolName, args, { callId: toolCallId }));
  };
  return {
    model: new ScriptedModel(Array.from({ length: callsMax }, () => modelResponder(respond))),
    told: () =>
      Object.fromEntries(
        seen.flatMap((item) => (item.type === 'function_call_result' ? [[item.callId, textOf(item.output)]] : [])),
      ),
  };
}

function textOf(output: unknown): string {
  if (typeof output === 'string') return output;
  const isText = typeof output === 'object' && output !== null && 'text' in output && typeof output.text === 'string';
  return isText ? String(output.text) : JSON.stringify(output);
}
