import { context, isSpanContextValid, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Context, Link, SpanContext } from '@opentelemetry/api';
import type { ClaimView, ToolCallView } from '@countersign/contracts';

// Without an OpenTelemetry SDK in the worker there is no active span, and spans are not recorded.

/** The header that continues the active trace; empty when there is none. */
export function traceHeaders(): { readonly traceparent?: string } {
  const span = trace.getActiveSpan()?.spanContext();
  if (span === undefined || !isSpanContextValid(span)) return {};
  return { traceparent: `00-${span.traceId}-${span.spanId}-0${String(span.traceFlags & 1)}` };
}

const pattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-0([01])$/;

function spanOf(traceparent: string | undefined): SpanContext | undefined {
  const [, traceId = '', spanId = '', sampled] = pattern.exec(traceparent ?? '') ?? [];
  const span = { traceId, spanId, traceFlags: Number(sampled), isRemote: true };
  return isSpanContextValid(span) ? span : undefined;
}

/** Runs work in the trace of a claimed call, unless it runs inside a span already. */
export function inTraceOf<T>({ traceparent }: ClaimView, work: () => Promise<T>): Promise<T> {
  const span = spanOf(traceparent);
  const here = context.active();
  if (span === undefined || trace.getSpan(here) !== undefined) return work();
  return context.with(trace.setSpanContext(here, span), work);
}

/**
 * Runs a tool inside the span `execute_tool <name>`, as OpenTelemetry's conventions name it. No argument, output or text of an
 * error is in it.
 */
export async function inToolSpan<T>(
  call: Pick<ToolCallView, 'callId' | 'runId' | 'agentId' | 'toolCallId' | 'toolName'>,
  claim: Pick<ClaimView, 'traceparent'>,
  run: () => Promise<T>,
): Promise<T> {
  const { callId, runId, agentId, toolCallId, toolName } = call;
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': toolName,
    'gen_ai.tool.call.id': toolCallId,
    'gen_ai.agent.id': agentId,
    'gen_ai.conversation.id': runId,
    'countersign.call_id': callId,
  };
  const options = { attributes, links: linksTo(claim, context.active()) };
  return trace.getTracer('countersign').startActiveSpan(`execute_tool ${toolName}`, options, async (span) => {
    try {
      return await run();
    } catch (error) {
      span.setAttribute('error.type', classOf(error));
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The name of an error's class. A tool may set it to any text, so that only a word counts. */
function classOf(error: unknown): string {
  return error instanceof Error && /^[A-Za-z]\w{0,63}$/.test(error.name) ? error.name : 'Error';
}

/** The trace in which the call was requested, where the worker runs it in another one. */
function linksTo({ traceparent }: Pick<ClaimView, 'traceparent'>, here: Context): Link[] {
  const requested = spanOf(traceparent);
  if (requested === undefined || requested.traceId === trace.getSpanContext(here)?.traceId) return [];
  return [{ context: requested }];
}
