import type { JsonValue } from '@countersign/contracts';
import type { Secret } from '@countersign/runtime';
import { omitted, outputBytesMax, readBody } from './answer-body.js';
import { post } from './post.js';
import type { PostResult, PostPorts } from './post.js';
import type { Tool, ToolOutcome, ToolRun } from './tool.js';

export interface HttpTarget {
  readonly url: URL;
  readonly timeoutMs: number;
  readonly allowPrivateNetwork: boolean;
  readonly headers: Readonly<Record<string, Secret>>;
}

/** Runs a tool with a POST request. */
export function createHttpRun(target: HttpTarget, ports: PostPorts): Tool['run'] {
  return async (run) => {
    const { url, timeoutMs, allowPrivateNetwork } = target;
    const { signal } = run;
    const sent = { headers: headersOf(target, run), body: bodyOf(run) };
    const limits = { timeoutMs, allowPrivateNetwork, answerBytesMax: outputBytesMax };
    return toOutcome(await post({ url, signal, ...limits, ...sent }, ports));
  };
}

function headersOf(target: HttpTarget, { idempotencyKey, receipt: receiptNow }: ToolRun): Record<string, string> {
  const receipt = receiptNow?.();
  const configured = Object.entries(target.headers).map(([name, value]) => [name, value.reveal()] as const);
  return {
    accept: 'application/json, text/*;q=0.9, */*;q=0.1',
    'user-agent': 'countersign-resolver',
    ...Object.fromEntries(configured),
    'content-type': 'application/json',
    'idempotency-key': idempotencyKey,
    ...(receipt !== undefined && { 'countersign-receipt': receipt }),
  };
}

function bodyOf({ callId, runId, toolName, arguments: args, actionDigest, attempt }: ToolRun): string {
  return JSON.stringify({ callId, runId, toolName, arguments: args, actionDigest, attempt });
}

function toOutcome(result: PostResult): ToolOutcome {
  switch (result.status) {
    case 'answered':
      return toAnsweredOutcome(result);
    case 'not-sent':
      return { status: 'not-sent', code: 'unreachable', message: result.message };
    case 'refused':
      return { status: 'refused', code: 'address-not-allowed', message: result.message };
    case 'lost':
      return { status: 'unknown', message: result.message };
  }
}

type Answered = Extract<PostResult, { status: 'answered' }>;

function toAnsweredOutcome(answer: Answered): ToolOutcome {
  const { httpStatus } = answer;
  const output = outputOf(answer);
  if (httpStatus >= 200 && httpStatus < 300) return { status: 'succeeded', output };
  return { status: 'failed', error: { code: 'http-status', status: httpStatus, body: output } };
}

function outputOf({ contentType, body, truncated, unread }: Answered): JsonValue {
  if (unread !== undefined) return omitted(unread);
  if (!truncated) return readBody(contentType, body);
  return omitted(`the answer is longer than ${outputBytesMax} bytes`, new TextDecoder().decode(body.subarray(0, 4096)));
}
