import { useRef } from 'react';
import type { ReactNode, SubmitEvent } from 'react';
import { useShortcuts } from '@countersign/react/parts';
import { hrefs, navigate } from '../routes.js';
import { dayOf, kinds, localOf, momentOf, queryOf, searchFields, searchOf } from './search.js';
import type { Search } from './search.js';

/** The filters of a search. The address has all of them. */
export function SearchForm({ query }: { query: string }): ReactNode {
  const search = searchOf(query);
  const first = useRef<HTMLInputElement>(null);
  useShortcuts({ '/': () => first.current?.focus() });
  const go = (next: Search): void => navigate(hrefs.search(queryOf(next)));
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    go(searchIn(new FormData(event.currentTarget), search));
  };
  return (
    <form className="panel audit-search" role="search" aria-label="Search the log" onSubmit={submit}>
      {searchFields.map(([name, label], index) => (
        <label className="cs-field" key={name}>
          <span className="cs-label">{label}</span>
          <input ref={index === 0 ? first : undefined} name={name} defaultValue={search[name] ?? ''} />
        </label>
      ))}
      <Kinds types={search.types} />
      <Moment name="since" label="From" time={search.since} />
      <Moment name="until" label="Until (not included)" time={search.until} />
      <label className="cs-field">
        <span className="cs-label">Or a whole day</span>
        <input type="date" onChange={({ target: { value } }) => value !== '' && go({ ...search, ...dayOf(value) })} />
      </label>
      <label className="cs-field">
        <span className="cs-label">Order</span>
        <select name="order" defaultValue={search.order ?? ''}>
          <option value="">newest first</option>
          <option value="asc">oldest first</option>
        </select>
      </label>
      <div className="cs-actions audit-wide">
        <button className="cs-button cs-primary" type="submit">
          Search
        </button>
        {query !== '' && (
          <button className="cs-button" type="button" onClick={() => navigate(hrefs.audit)}>
            Clear
          </button>
        )}
        {search.own !== undefined && search.actor !== undefined && (
          <span className="cs-muted">
            Only what {search.actor} did themselves is listed. Downloads have what others did for them too.
          </span>
        )}
        {search.only !== undefined && (
          <span className="cs-muted">
            Of this search only responses of the kind “{search.only}” are listed. Downloads have all of it.
          </span>
        )}
      </div>
    </form>
  );
}

function Kinds({ types }: { types: string | undefined }): ReactNode {
  const isOwn = types !== undefined && kinds.every(([, one]) => one !== types);
  return (
    <label className="cs-field">
      <span className="cs-label">Kind of event</span>
      <select name="types" defaultValue={types ?? ''}>
        <option value="">any</option>
        {isOwn && <option value={types}>{types}</option>}
        {kinds.map(([words, one]) => (
          <option key={words} value={one}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

function Moment({ name, label, time }: { name: string; label: string; time: string | undefined }): ReactNode {
  return (
    <label className="cs-field">
      <span className="cs-label">{label}</span>
      <input type="datetime-local" step={1} name={name} defaultValue={localOf(time)} />
    </label>
  );
}

/** The search of the form. A time that was not changed stays exact. */
function searchIn(form: FormData, before: Search): Search {
  const entries = [...form].map(([name, value]): [string, string | undefined] => {
    const text = typeof value === 'string' ? value.trim() : '';
    if (name !== 'since' && name !== 'until') return [name, text];
    return [name, text === localOf(before[name]) ? before[name] : momentOf(text)];
  });
  return Object.fromEntries(entries);
}
