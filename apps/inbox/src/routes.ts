import { useSyncExternalStore } from 'react';

/** The current view. The address contains all of it, so every view has a link. */
export type Route =
  | { readonly page: 'pending'; readonly approvalId: string | undefined }
  | { readonly page: 'run'; readonly runId: string }
  | { readonly page: 'call'; readonly callId: string }
  | { readonly page: 'history' }
  | { readonly page: 'insights' }
  | { readonly page: 'unknown' }
  | { readonly page: 'grants' }
  | { readonly page: 'passkeys' }
  | { readonly page: 'policy'; readonly callId: string | undefined }
  | { readonly page: 'audit'; readonly isState: boolean; readonly query: string };

/** The address of a view. */
export const hrefs = {
  pending: '/',
  history: '/history',
  insights: '/oversight',
  unknown: '/unknown',
  grants: '/grants',
  policy: '/policy',
  passkeys: '/passkeys',
  audit: '/audit',
  explain: (callId: string) => `/policy/${encodeURIComponent(callId)}`,
  approval: (approvalId: string) => `/approvals/${encodeURIComponent(approvalId)}`,
  run: (runId: string) => `/runs/${encodeURIComponent(runId)}`,
  call: (callId: string) => `/calls/${encodeURIComponent(callId)}`,
  search: (query: string) => `/audit?${query}`,
  state: (query: string) => `/audit/state?${query}`,
} as const;

/** Returns the view of an address; the list for an unknown one. */
export function routeOf(address: string): Route {
  const [path = '', query = ''] = address.split('?', 2);
  const [, first = '', second = ''] = path.split('/');
  const id = decoded(second);
  switch (id === '' ? first : `${first}/…`) {
    case 'approvals/…':
      return { page: 'pending', approvalId: id };
    case 'runs/…':
      return { page: 'run', runId: id };
    case 'calls/…':
      return { page: 'call', callId: id };
    case 'history':
      return { page: 'history' };
    // The earlier address of this page.
    case 'insights':
    case 'oversight':
      return { page: 'insights' };
    case 'unknown':
      return { page: 'unknown' };
    case 'grants':
      return { page: 'grants' };
    case 'passkeys':
      return { page: 'passkeys' };
    case 'policy':
      return { page: 'policy', callId: undefined };
    case 'policy/…':
      return { page: 'policy', callId: id };
    case 'audit':
    case 'audit/…':
      return { page: 'audit', isState: id === 'state', query };
    default:
      return { page: 'pending', approvalId: undefined };
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}

const listeners = new Set<() => void>();
const tell = (): void => {
  for (const listener of listeners) listener();
};

/** Navigates to an address of the inbox. `replace` adds no entry to the history. */
export function navigate(href: string, { replace = false } = {}): void {
  if (href === addressNow()) return;
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  tell();
}

/** The current view, updated on navigation. */
export function usePath(): string {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    window.addEventListener('popstate', listener);
    return () => {
      listeners.delete(listener);
      window.removeEventListener('popstate', listener);
    };
  }, addressNow);
}

function addressNow(): string {
  return location.pathname + location.search;
}
