import { loadChat } from '../../../lib/chats';
import { runOf, userOf } from '../../../lib/user';
import { Chat } from './chat';

export default async function Page({ params }: { readonly params: Promise<{ readonly id: string }> }) {
  const { id } = await params;
  const runId = runOf(userOf(), id);
  return <Chat id={id} runId={runId} stored={await loadChat(runId)} />;
}
