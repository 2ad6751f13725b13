import { createReceiptGuard } from './guard.js';
import type { GuardOptions } from './guard.js';

/** The member of `_meta` with the receipt of a call. */
export const receiptMetaKey = 'countersign/receipt';

/** A request `tools/call` of MCP, as far as a guard reads it. */
export interface McpToolCall {
  readonly params: {
    readonly name: string;
    readonly arguments?: Readonly<Record<string, unknown>> | undefined;
    readonly _meta?: Readonly<Record<string, unknown>> | undefined;
  };
}

/** A result of `tools/call` that says that nothing ran. */
export interface McpRefusal {
  [member: string]: unknown;
  isError: true;
  content: { type: 'text'; text: string }[];
}

/**
 * Puts a guard around the handler of `tools/call` of an MCP server: it runs only calls that come through Countersign. A call without a
 * valid receipt gets a result with `isError`.
 * @example
 * server.setRequestHandler(CallToolRequestSchema, guardToolCalls({ issuer, jwksUrl }, async ({ params }) => runTool(params)));
 */
export function guardToolCalls<Request extends McpToolCall, Extra extends unknown[], Result>(
  options: GuardOptions,
  handler: (request: Request, ...extra: Extra) => Result | Promise<Result>,
): (request: Request, ...extra: Extra) => Promise<Result | McpRefusal> {
  const guard = createReceiptGuard<Result>(options);
  return async (request, ...extra) => {
    const { name, arguments: args = {}, _meta: meta = {} } = request.params;
    const receipt = meta[receiptMetaKey];
    const call = { toolName: name, arguments: args, receipt: typeof receipt === 'string' ? receipt : null };
    const answer = await guard.run(call, () => handler(request, ...extra));
    if (answer.status !== 'refused') return answer.answer;
    const text = `${answer.code}: ${answer.detail}. Nothing ran.`;
    return { isError: true, content: [{ type: 'text', text }], _meta: { 'countersign/refused': answer.code } };
  };
}
