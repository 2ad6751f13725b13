import { mkdir, readFile, writeFile } from 'node:fs/promises';
import type { UIMessage } from 'ai';

// Here your database belongs.
const fileOf = (runId: string) => `.chats/${encodeURIComponent(runId)}.json`;

export async function loadChat(runId: string): Promise<UIMessage[]> {
  const text = await readFile(fileOf(runId), 'utf8').catch(() => '[]');
  return JSON.parse(text) as UIMessage[];
}

export async function saveChat(runId: string, messages: readonly UIMessage[]): Promise<void> {
  await mkdir('.chats', { recursive: true });
  await writeFile(fileOf(runId), JSON.stringify(messages));
}
