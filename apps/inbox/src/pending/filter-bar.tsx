import { useMemo, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { useShortcuts } from '../live/use-shortcuts.js';
import { choicesOf, isFiltering, noFilters } from './filters.js';
import type { Filters } from './filters.js';

const selects = [
  ['tool', 'Tool'],
  ['agent', 'Agent'],
  ['run', 'Run'],
  ['group', 'Group'],
] as const;

/** The filters over the list. */
export function FilterBar(props: {
  approvals: readonly ApprovalView[];
  filters: Filters;
  onChange: (filters: Filters) => void;
}): ReactNode {
  const { approvals, filters, onChange } = props;
  const search = useRef<HTMLInputElement>(null);
  const [isOpen, setOpen] = useState(false);
  const choices = useMemo(() => choicesOf(approvals), [approvals]);
  useShortcuts({ '/': () => search.current?.focus() });
  return (
    <div className="filters" role="search" aria-label="Filter the list">
      <div className="filters-line">
        <input
          ref={search}
          type="search"
          aria-label="Search text"
          placeholder="Search  ( / )"
          value={filters.text}
          onChange={(event) => onChange({ ...filters, text: event.target.value })}
          onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
        />
        <button
          className="button"
          type="button"
          aria-expanded={isOpen}
          aria-controls="filter-selects"
          onClick={() => setOpen(!isOpen)}
        >
          Filters
        </button>
        {isFiltering(filters) && (
          <button className="button quiet" type="button" onClick={() => onChange(noFilters)}>
            Clear
          </button>
        )}
      </div>
      <div id="filter-selects" className="filters-selects" hidden={!isOpen}>
        {selects.map(([name, label]) => (
          <div key={name} className="field small">
            <label className="label" htmlFor={`filter-${name}`}>
              {label}
            </label>
            <select
              id={`filter-${name}`}
              value={filters[name]}
              onChange={(event) => onChange({ ...filters, [name]: event.target.value })}
            >
              <option value="">any</option>
              {choices[name].map((choice) => (
                <option key={choice} value={choice}>
                  {printable(choice, 80)}
                </option>
              ))}
            </select>
          </div>
        ))}
      </div>
    </div>
  );
}
