/** Where people look at an approval and decide, once they are signed in; null without a public url. */
export function inboxLink(publicUrl: string | null, approvalId: string): string | null {
  return publicUrl === null ? null : `${publicUrl.replace(/\/+$/, '')}/approvals/${encodeURIComponent(approvalId)}`;
}
