import { getToolName, isToolUIPart, type UIMessage } from 'ai';
import type { ReactNode } from 'react';

/** The calls of the last message that people were asked about when it was written. */
export function openCallsOf(messages: UIMessage[]): string[] {
  const parts = messages.at(-1)?.parts.filter(isToolUIPart) ?? [];
  return parts.filter(({ state }) => state === 'approval-requested').map(({ toolCallId }) => toolCallId);
}

type MessagesProps = { messages: UIMessage[]; cardOf: (toolCallId: string) => ReactNode };

/** The conversation: its texts, and for each call its card while it waits, or its state. */
export function Messages({ messages, cardOf }: MessagesProps) {
  const show = (part: UIMessage['parts'][number], key: number) => {
    if (part.type === 'text') return <p key={key}>{part.text}</p>;
    if (!isToolUIPart(part)) return null;
    const card = part.state === 'approval-requested' ? cardOf(part.toolCallId) : undefined;
    return card ? <div key={key}>{card}</div> : <p key={key}>{`${getToolName(part)}: ${part.state}`}</p>;
  };
  return messages.map(({ id, role, parts }) => (
    <section key={id} className={role}>
      {parts.map(show)}
    </section>
  ));
}
