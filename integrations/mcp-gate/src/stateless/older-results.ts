import { isObject, objectOf } from '../wire.js';

type Members = Readonly<Record<string, unknown>>;

/**
 * Returns a complete result of a stateless server as the client reads it. The attack on the promise that a client reads the
 * result of each run: earlier versions know only objects as structured content, and refuse the whole result otherwise.
 */
export function readableResult(method: string, result: Members, isForStateless: boolean): Record<string, unknown> {
  const { resultType: _, ...complete } = result;
  if (isForStateless) return complete;
  if (method === 'tools/call') return olderCall(complete);
  const { tools } = complete;
  if (method !== 'tools/list' || !Array.isArray(tools)) return complete;
  return { ...complete, tools: tools.map((tool: unknown) => olderTool(objectOf(tool))) };
}

function olderCall({ structuredContent, ...result }: Members): Record<string, unknown> {
  const content = Array.isArray(result['content']) ? (result['content'] as readonly unknown[]) : [];
  if (structuredContent === undefined) return { ...result, content };
  if (isObject(structuredContent)) return { ...result, content, structuredContent };
  const text = { type: 'text', text: JSON.stringify(structuredContent) };
  return { ...result, content: content.length === 0 ? [text] : content };
}

/** Without the schema a client does not expect structured content. */
function olderTool({ outputSchema, ...tool }: Members): Record<string, unknown> {
  return objectOf(outputSchema)['type'] === 'object' ? { ...tool, outputSchema } : tool;
}
