import { jcsDigest, type JsonObject, type JsonValue, type ToolCallView } from '@countersign/contracts';
import { z } from 'zod';
import { CountersignError } from '../errors.js';
import { gateTool } from '../tools/gate-tool.js';
import type { StepOutcome } from '../results/outcome.js';
import type { Step } from '../state.js';
import { questionToolName, type GateTool, type Question } from '../tools/tool-definition.js';

const inputSchema = z.strictObject({
  question: z.string().min(1),
  details: z.record(z.string(), z.unknown()).optional(),
});

/** A question as a tool that only a person can answer. Nothing claims it. */
export function questionTool(settings: Pick<Question, 'expiresInMs' | 'labels'> = {}): GateTool {
  const { expiresInMs, labels } = settings;
  return gateTool({
    name: questionToolName,
    inputSchema,
    needsApproval: true,
    approvalPrompt: ({ question }) => question,
    clientExecuted: true,
    allowedDecisions: ['answer', 'deny'],
    ...(expiresInMs === undefined ? {} : { expiresInMs }),
    ...(labels === undefined ? {} : { labels }),
  });
}

/** The step that asks. The same question inside the same call is the same call, so that a retry gets its answer. */
export function stepOfQuestion({ callId, runId }: ToolCallView, { id, question, details }: Question): Step {
  const args: JsonObject = { question, ...(details === undefined ? {} : { details }) };
  const digest = jcsDigest([callId, id ?? null, args]);
  const toolCallId = `ask-${digest.replace('sha256:', '').slice(0, 32)}`;
  return { runId, parentCallId: callId, toolCalls: [{ toolCallId, toolName: questionToolName, arguments: args }] };
}

/** The person's answer. Throws a `CountersignError` when there is none. */
export function answerOf({ results: [result] }: StepOutcome): JsonValue {
  if (result?.status === 'succeeded') return result.output;
  const status = result?.status ?? 'approved';
  const why = result?.message ?? 'it was approved without an answer';
  throw new CountersignError({ code: `question-${status}`, message: `The question has no answer: ${why}` });
}
