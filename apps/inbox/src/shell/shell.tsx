import { Suspense, lazy, useEffect, useMemo, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { printable } from '@countersign/text';
import { useAccount, useOutbox, usePending, useShortcuts, useToast } from '@countersign/react/parts';
import { signOut } from '../api/countersign.js';
import { useUnknown } from '../live/use-unknown.js';
import { ofTab } from '../pending/order.js';
import { hrefs, routeOf, usePath } from '../routes.js';
import { Link } from '../ui/link.js';
import { HelpDialog } from './help-dialog.js';
import { Icon } from './icons.js';
import { OutboxBar } from './outbox-bar.js';
import { applyTheme, chosenTheme } from './theme.js';
import type { Theme } from './theme.js';

const Stops = lazy(() => import('../stops/stops.js'));

/** The frame of every page: navigation, connection state, signed-in person. */
export function Shell({ onSignedOut, children }: { onSignedOut: () => void; children: ReactNode }): ReactNode {
  const [isHelping, setHelping] = useState(false);
  const [stopRow, setStopRow] = useState<HTMLElement | null>(null);
  const { roles } = useAccount();
  useShortcuts({ '?': () => setHelping(true) });
  useTitle();
  return (
    <div className="shell">
      <a className="skip-link" href="#content">
        Skip to the content
      </a>
      <header className="top">
        <Link href={hrefs.pending} className="brand" aria-label="Countersign, to the list">
          <span className="brand-mark">
            <Icon name="logo" />
          </span>
          <span className="brand-name">Countersign</span>
        </Link>
        <Navigation />
        <div className="top-end">
          {roles.some((role) => mayKnowStops.has(role)) && (
            <Suspense>
              <Stops row={stopRow} />
            </Suspense>
          )}
          <ConnectionDot />
          <ThemeButton />
          <button
            className="cs-button cs-quiet cs-icon help-button"
            type="button"
            aria-label="Help"
            onClick={() => setHelping(true)}
          >
            <Icon name="help" />
          </button>
          <AccountButton onSignedOut={onSignedOut} />
        </div>
      </header>
      <ConnectionBanner />
      <div ref={setStopRow} role="status" />
      <div id="content" className="content">
        {children}
      </div>
      <OutboxBar />
      {isHelping && <HelpDialog onClose={() => setHelping(false)} />}
    </div>
  );
}

const mayKnowStops: ReadonlySet<string> = new Set(['approver', 'auditor', 'admin', 'stopper']);

function Navigation(): ReactNode {
  const { page } = routeOf(usePath());
  const { count } = useMine();
  const nav = useRef<HTMLElement>(null);
  // On a phone the navigation scrolls.
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ inline: 'center', block: 'nearest' });
  }, [page]);
  const unknown = useUnknown().calls?.length ?? 0;
  const { roles } = useAccount();
  const current = (name: string) => (page === name ? { 'aria-current': 'page' as const } : {});
  return (
    <nav ref={nav} className="nav" aria-label="Main">
      <Link href={hrefs.pending} {...current('pending')}>
        Pending{' '}
        {count !== undefined && (
          <span className="count" title="for you">
            {count}
          </span>
        )}
      </Link>
      <Link href={hrefs.history} {...current('history')}>
        History
      </Link>
      <Link href={hrefs.grants} {...current('grants')}>
        Grants
      </Link>
      <Link href={hrefs.policy} {...current('policy')}>
        Policy
      </Link>
      <Link href={hrefs.insights} {...current('insights')}>
        Oversight
      </Link>
      {roles.includes('auditor') && (
        <Link href={hrefs.audit} {...current('audit')}>
          Log
        </Link>
      )}
      {roles.includes('approver') && (
        <Link href={hrefs.passkeys} {...current('passkeys')}>
          Passkeys
        </Link>
      )}
      {unknown > 0 && (
        <Link href={hrefs.unknown} {...current('unknown')}>
          Unknown <span className="count warn">{unknown.toLocaleString('en-US')}</span>
        </Link>
      )}
    </nav>
  );
}

/** How many approvals wait for this person; undefined until it is known, and for a person who decides none. */
function useMine(): { readonly mine: number; readonly count: string | undefined } {
  const { approvals, status, hasMore } = usePending();
  const isApprover = useAccount().roles.includes('approver');
  const mine = useMemo(() => (isApprover ? ofTab(approvals, 'mine').length : 0), [approvals, isApprover]);
  const count = isApprover && status === 'ready' ? `${mine.toLocaleString('en-US')}${hasMore ? '+' : ''}` : undefined;
  return { mine, count };
}

/** The number of approvals for this person in the tab's title. */
function useTitle(): void {
  const { mine } = useMine();
  useEffect(() => {
    document.title = mine === 0 ? 'Countersign' : `(${mine}) Countersign`;
  }, [mine]);
}

const connectionWords = { connecting: 'Connecting', live: 'Live', lost: 'Offline', 'signed-out': 'Offline' } as const;

function ConnectionDot(): ReactNode {
  const { connection } = usePending();
  return (
    <span className="connection" data-connection={connection}>
      <span className="dot" aria-hidden="true" />
      {connectionWords[connection]}
    </span>
  );
}

/** Over the page instead of in it, so that buttons do not move. */
function ConnectionBanner(): ReactNode {
  const { connection, isRestored } = usePending();
  return (
    <div role="status" className="banner-place">
      {connection === 'lost' && (
        <p className="banner">Connection lost. Trying again … What you see may be out of date.</p>
      )}
      {connection === 'live' && isRestored && (
        <p className="banner">The server was restored from a backup. The list was read again.</p>
      )}
    </div>
  );
}

const nextTheme = { system: 'light', light: 'dark', dark: 'system' } as const satisfies Record<Theme, Theme>;
const themeIcon = { system: 'system', light: 'sun', dark: 'moon' } as const;

function ThemeButton(): ReactNode {
  const [theme, setTheme] = useState(chosenTheme);
  const change = (): void => {
    const next = nextTheme[theme];
    applyTheme(next);
    setTheme(next);
  };
  return (
    <button className="cs-button cs-quiet cs-icon" type="button" aria-label={`Colours: ${theme}`} onClick={change}>
      <Icon name={themeIcon[theme]} />
    </button>
  );
}

function AccountButton({ onSignedOut }: { onSignedOut: () => void }): ReactNode {
  const { principal, roles } = useAccount();
  const toast = useToast();
  const outbox = useOutbox();
  const leave = (): void => {
    const missed = outbox?.state().missed.length ?? 0;
    const end = async (): Promise<void> => {
      // What was decided is sent as long as there is a session. What was not recorded stays on the page.
      await outbox?.flush();
      if ((outbox?.state().missed.length ?? 0) > missed) return;
      await signOut();
      onSignedOut();
    };
    end().catch(() => {
      toast({ tone: 'bad', text: 'You are still signed in: Countersign did not answer. Try again.' });
    });
  };
  return (
    <>
      <span className="account" title={roles.length === 0 ? 'no role' : roles.join(', ')}>
        {printable(principal, 60)}
      </span>
      <button className="cs-button cs-quiet cs-icon" type="button" aria-label="Sign out" onClick={leave}>
        <Icon name="out" />
      </button>
    </>
  );
}
