import { useState } from 'react';
import type { ReactNode, SubmitEvent } from 'react';
import { Marked, useAccount } from '@countersign/react/parts';
import { hrefs } from '../routes.js';
import { Link } from '../ui/link.js';

interface Saved {
  readonly name: string;
  readonly query: string;
}

const savedMax = 50;

/** The searches that a person keeps in this browser. */
export function SavedSearches({ query }: { query: string }): ReactNode {
  const { tenant, principal } = useAccount();
  const key = `countersign-searches ${tenant} ${principal}`;
  const [searches, setSearches] = useState(() => readSaved(key));
  const [problem, setProblem] = useState('');
  const keep = (next: readonly Saved[]): void => {
    setSearches(next);
    setProblem(write(key, next) ? '' : 'This browser keeps nothing: the search is lost when the page is closed.');
  };
  const save = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const text = new FormData(event.currentTarget).get('name');
    const name = typeof text === 'string' ? text.trim() : '';
    if (name === '') return;
    keep([...searches.filter((one) => one.name !== name), { name, query }].slice(-savedMax));
    event.currentTarget.reset();
  };
  return (
    <section className="cs-actions" aria-label="Saved searches">
      {searches.map(({ name, query: saved }) => (
        <span key={name} className="audit-saved">
          <Link href={hrefs.search(saved)}>
            <Marked text={name} />
          </Link>
          <button
            className="cs-button cs-quiet cs-icon"
            type="button"
            aria-label={`Forget the search ${name}`}
            onClick={() => keep(searches.filter((one) => one.name !== name))}
          >
            ✕
          </button>
        </span>
      ))}
      {query !== '' && (
        <form className="cs-actions" onSubmit={save}>
          <input name="name" maxLength={80} aria-label="Name of this search" placeholder="Name of this search" />
          <button className="cs-button" type="submit">
            Save this search
          </button>
        </form>
      )}
      {problem !== '' && <span className="cs-problem-line">{problem}</span>}
    </section>
  );
}

function readSaved(key: string): readonly Saved[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(value) ? value.filter(isSaved) : [];
  } catch {
    return [];
  }
}

function isSaved(value: unknown): value is Saved {
  if (typeof value !== 'object' || value === null || !('name' in value) || !('query' in value)) return false;
  return typeof value.name === 'string' && typeof value.query === 'string';
}

function write(key: string, searches: readonly Saved[]): boolean {
  try {
    localStorage.setItem(key, JSON.stringify(searches));
    return true;
  } catch {
    return false;
  }
}
