import { useState } from 'react';
import type { ReactNode } from 'react';
import { hrefs } from '../routes.js';
import { Link } from '../ui/link.js';
import { ClearValues } from './clear-values.js';
import { Downloads } from './downloads.js';
import { Events } from './events.js';
import { SavedSearches } from './saved-searches.js';
import { SearchForm } from './search-form.js';
import { StateView } from './state-view.js';
import { useLog } from './use-log.js';

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The log for auditors: a search of its events, and how everything stood at a moment. */
export default function AuditPage({ isState, query }: { isState: boolean; query: string }): ReactNode {
  const current = (is: boolean) => (is ? { 'aria-current': 'page' as const } : {});
  return (
    <main className="page flow">
      <header className="page-head">
        <h1>Log</h1>
        <nav className="audit-tabs" aria-label="Views of the log">
          <Link href={hrefs.audit} {...current(!isState)}>
            Events
          </Link>
          <Link href={hrefs.state('')} {...current(isState)}>
            State at a time
          </Link>
        </nav>
        <span className="cs-muted">Times are local ({zone}). UTC is in the tooltip.</span>
      </header>
      {isState ? <StateView query={query} /> : <LogView query={query} />}
    </main>
  );
}

function LogView({ query }: { query: string }): ReactNode {
  // Clear values are for the search that they were asked for, and never part of a link.
  const [clearQuery, setClearQuery] = useState<string | undefined>();
  const isClear = clearQuery === query;
  const found = useLog(query, isClear);
  return (
    <>
      <SearchForm key={query} query={query} />
      <SavedSearches query={query} />
      <div className="cs-actions">
        <Downloads query={query} isClear={isClear} />
        <span className="cs-actions-gap" />
        <ClearValues isClear={isClear} onChange={(is) => setClearQuery(is ? query : undefined)} />
      </div>
      <Events {...found} />
    </>
  );
}
