import { redirect } from 'next/navigation';

export const dynamic = 'force-dynamic';

export default function NewThread() {
  redirect(`/langgraph/${crypto.randomUUID()}`);
}
