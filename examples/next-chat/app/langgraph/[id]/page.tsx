import { runOf, userOf } from '../../../lib/user';
import { Thread } from './thread';

export default async function Page({ params }: { readonly params: Promise<{ readonly id: string }> }) {
  const { id } = await params;
  return <Thread threadId={id} runId={runOf(userOf(), id)} />;
}
