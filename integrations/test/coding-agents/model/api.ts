/** The next step of the scripted model: a command for the shell tool of the agent, or its last words. */
export type Step = { readonly run: string } | { readonly say: string };

/** A request of an agent to its model. */
export interface Asked {
  /** All that the model reads since its last answer, once that was a tool call; empty before. */
  readonly told: string;
  readonly tools: readonly string[];
  readonly isStreamed: boolean;
}

/** A call of the tool that runs commands. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly args: object;
}

/** A part of a streamed answer. */
export interface StreamEvent {
  readonly event?: string;
  readonly data: object | string;
}

/** The answer of the model in its API's form. */
export interface Answer {
  readonly whole: object;
  readonly events: readonly StreamEvent[];
}

/** The API of a vendor, as much of it as an agent needs for one tool call and a text. */
export interface Api {
  /** Undefined: the path is not one where the model answers. */
  readonly read: (path: string, body: Body) => Asked | undefined;
  readonly say: (text: string) => Answer;
  readonly call: (call: ToolCall) => Answer;
}

/** A body, or a part of it, of a request. */
export type Body = Readonly<Record<string, unknown>>;

/** The objects of an array in a body; none when it is not one. */
export function objectsIn(value: unknown): readonly Body[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.filter((item): item is Body => typeof item === 'object' && item !== null);
}

/** The text of a content that is a string or a list of text parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return objectsIn(content)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('\n');
}

/** The items at the end of a conversation, from the last one that is not wanted on. */
export function lastOf(items: readonly Body[], isWanted: (item: Body) => boolean): readonly Body[] {
  return items.slice(items.findLastIndex((item) => !isWanted(item)) + 1);
}
