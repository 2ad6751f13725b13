import { Suspense, lazy, useEffect, useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import {
  AccountContext,
  ClientContext,
  Name,
  OutboxContext,
  PendingContext,
  SurroundingsContext,
  Toasts,
  createOutbox,
  createPendingStore,
  useAccount,
} from '@countersign/react/parts';
import type { Account, Surroundings } from '@countersign/react/parts';
import { readSession } from './api/countersign.js';
import type { SessionView } from './api/countersign.js';
import { client } from './api/client.js';
import { whenSignedOut } from './api/http.js';
import { undoMs } from './live/undo-time.js';
import { UnknownCalls } from './live/use-unknown.js';
import { BulkDialog } from './pending/bulk-dialog.js';
import { PendingPage } from './pending/pending-page.js';
import { hrefs, navigate, routeOf, usePath } from './routes.js';
import { Shell } from './shell/shell.js';
import { SignIn } from './shell/sign-in.js';

const HistoryPage = lazy(() => import('./history/history-page.js'));
const InsightsPage = lazy(() => import('./insights/insights-page.js'));
const PolicyPage = lazy(() => import('./policy/policy-page.js'));
const GrantsPage = lazy(() => import('./grants/grants-page.js'));
const UnknownPage = lazy(() => import('./unknown/unknown-page.js'));
const PasskeysPage = lazy(() => import('./passkeys/passkeys-page.js'));
const RunPage = lazy(() => import('./call/run-page.js'));
const AuditPage = lazy(() => import('./audit/audit-page.js'));
const CallPage = lazy(() => import('./call/call-page.js'));

type Standing =
  | { readonly status: 'asking' | 'unreachable' }
  | { readonly status: 'out'; readonly isOver: boolean }
  | { readonly status: 'in'; readonly account: Account };

const retryMs = 2000;

/** The inbox: the sign-in page, or the pages behind it. */
export function App(): ReactNode {
  const [standing, setStanding] = useState<Standing>({ status: 'asking' });
  const [isOidcOffered, setOidcOffered] = useState(false);
  const [round, setRound] = useState(0);
  useEffect(() => {
    let retry: ReturnType<typeof setTimeout> | undefined;
    readSession().then(
      (session) => {
        setOidcOffered(session.isOidcOffered);
        setStanding(standingOf(session));
      },
      () => {
        setStanding({ status: 'unreachable' });
        retry = setTimeout(() => setRound((before) => before + 1), retryMs);
      },
    );
    return () => clearTimeout(retry);
  }, [round]);
  useEffect(() => {
    // Several requests may report it. The first one knows whether a person was signed in.
    whenSignedOut(() =>
      setStanding((before) => (before.status === 'out' ? before : { status: 'out', isOver: before.status === 'in' })),
    );
  }, []);

  switch (standing.status) {
    case 'asking':
      return <main className="sign-in" aria-busy="true" />;
    case 'unreachable':
      return (
        <main className="sign-in">
          <p role="alert">Countersign does not answer. Trying again …</p>
        </main>
      );
    case 'out':
      return (
        <SignIn
          isOidcOffered={isOidcOffered}
          isOver={standing.isOver}
          onSignedIn={(account) => setStanding({ status: 'in', account })}
        />
      );
    case 'in':
      return <Inbox account={standing.account} onSignedOut={() => setRound((before) => before + 1)} />;
  }
}

function standingOf({ actor }: SessionView): Standing {
  return actor === null ? { status: 'out', isOver: false } : { status: 'in', account: actor };
}

/** The inbox has links, the answer to a whole step, grants and shortcuts around a card. */
const surroundings: Surroundings = {
  hrefs,
  navigate,
  renderStep: (approvals, close) => <BulkDialog approvals={approvals} onClose={close} onDone={() => undefined} />,
  canRemember: true,
  hasShortcuts: true,
};

function Inbox({ account, onSignedOut }: { account: Account; onSignedOut: () => void }): ReactNode {
  const store = useMemo(() => createPendingStore(client), [account]);
  const outbox = useMemo(() => createOutbox(store, undoMs), [store]);
  useEffect(() => (mayLook(account) ? store.start() : undefined), [store, account]);
  useEffect(() => outbox.start(), [outbox]);
  const shell = (
    <Shell onSignedOut={onSignedOut}>
      <Suspense fallback={<main className="page" aria-busy="true" />}>
        {mayLook(account) ? <Page /> : <NoRights account={account} />}
      </Suspense>
    </Shell>
  );
  return (
    <AccountContext value={account}>
      <ClientContext value={client}>
        <SurroundingsContext value={surroundings}>
          <PendingContext value={store}>
            <OutboxContext value={outbox}>
              <Toasts>{mayLook(account) ? <UnknownCalls>{shell}</UnknownCalls> : shell}</Toasts>
            </OutboxContext>
          </PendingContext>
        </SurroundingsContext>
      </ClientContext>
    </AccountContext>
  );
}

/** Approvals are shown to those who decide, audit or run Countersign. */
function mayLook({ roles }: Account): boolean {
  return ['approver', 'auditor', 'admin'].some((role) => roles.includes(role));
}

function NoRights({ account: { principal, roles } }: { account: Account }): ReactNode {
  return (
    <main className="page">
      <p className="cs-notice" role="status">
        You are signed in as <Name text={principal} />, with {roles.length === 0 ? 'no role' : roles.join(', ')}.
        Approvals are shown to approvers, auditors and admins: ask the operator of Countersign for one of these roles.
      </p>
    </main>
  );
}

function Page(): ReactNode {
  const route = routeOf(usePath());
  const { roles } = useAccount();
  switch (route.page) {
    case 'pending':
      return <PendingPage approvalId={route.approvalId} />;
    case 'history':
      return <HistoryPage />;
    case 'insights':
      return <InsightsPage />;
    case 'run':
      return <RunPage runId={route.runId} />;
    case 'call':
      return <CallPage callId={route.callId} />;
    case 'unknown':
      return <UnknownPage />;
    case 'grants':
      return <GrantsPage />;
    case 'passkeys':
      return <PasskeysPage />;
    case 'policy':
      return <PolicyPage callId={route.callId} />;
    case 'audit':
      return roles.includes('auditor') ? (
        <AuditPage isState={route.isState} query={route.query} />
      ) : (
        <main className="page">
          <p className="cs-notice">
            The log is shown to auditors. Ask the operator of Countersign for the role auditor.
          </p>
        </main>
      );
  }
}
