import type { CalledTool, NewEvent } from '@countersign/contracts';
import { calledToolOf } from '@countersign/contracts';
import type { SpanAttributes, SpanOptions } from './tracing.js';

/** The ids of a call: the agent gives those of the tool, but not its tenant. */
interface CallIds {
  readonly tenant: string;
  readonly callId: string | null;
  readonly runId: string | null;
}

/** The attributes of a tool call: those of OpenTelemetry's conventions for generative AI, and its `callId`. */
export function callAttributes(
  { toolName, toolCallId, agentId }: CalledTool,
  { tenant, callId, runId }: CallIds,
): SpanAttributes {
  return {
    'gen_ai.tool.name': toolName,
    'gen_ai.tool.call.id': toolCallId,
    'gen_ai.agent.id': agentId,
    'gen_ai.conversation.id': runId ?? undefined,
    'countersign.tenant': tenant,
    'countersign.call_id': callId ?? undefined,
  };
}

/** The span around the execution of a tool, as OpenTelemetry's conventions name it. */
export function toolSpan(tool: CalledTool, ids: CallIds): SpanOptions {
  const attributes = { ...callAttributes(tool, ids), 'gen_ai.operation.name': 'execute_tool' };
  return { name: `execute_tool ${tool.toolName}`, attributes };
}

/** The attributes of an event: names and ids, and no other member of its data. */
export function eventAttributes(event: NewEvent): SpanAttributes {
  const { approvalId, resolution, channelId } = event.data as Readonly<Record<string, unknown>>;
  const tool = calledToolOf(event);
  return {
    ...(tool !== undefined && callAttributes(tool, event.metadata)),
    'countersign.approval_id': textOf(approvalId),
    'countersign.resolution': textOf(resolution),
    'countersign.channel_id': textOf(channelId),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The name of an event in words: `approval requested`. */
export function eventName({ type }: NewEvent): string {
  return type.replace(/(?<!^)[A-Z]/g, ' $&').toLowerCase();
}
