import { useMemo, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { useShortcuts } from '@countersign/react/parts';
import { choicesOf, isFiltering, noFilters } from './filters.js';
import type { Filters } from './filters.js';
import type { Grouping, Order } from './order.js';

const selects = [
  ['tool', 'Tool'],
  ['agent', 'Agent'],
  ['run', 'Run'],
  ['group', 'Group'],
  ['risk', 'Risk'],
  ['label', 'Label'],
  ['end', 'Expires'],
] as const;

const orders: readonly (readonly [Order, string])[] = [
  ['risk', 'Risk first'],
  ['deadline', 'Deadline first'],
  ['oldest', 'Oldest first'],
];
const groupings: readonly (readonly [Grouping, string])[] = [
  ['step', 'of one step'],
  ['run', 'of one run'],
  ['none', 'each alone'],
];

/** How the list is arranged, and what changes it. */
export interface Arrangement {
  readonly order: Order;
  readonly setOrder: (order: Order) => void;
  readonly grouping: Grouping;
  readonly setGrouping: (grouping: Grouping) => void;
}

/** The filters over the list, its order and its groups. */
export function FilterBar(props: {
  approvals: readonly ApprovalView[];
  filters: Filters;
  onChange: (filters: Filters) => void;
  arrangement: Arrangement;
}): ReactNode {
  const { approvals, filters, onChange, arrangement } = props;
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
        <Choose label="Order" value={arrangement.order} choices={orders} onChange={arrangement.setOrder} />
        <button
          className="cs-button"
          type="button"
          aria-expanded={isOpen}
          aria-controls="filter-selects"
          onClick={() => setOpen(!isOpen)}
        >
          Filters
        </button>
        {isFiltering(filters) && (
          <button className="cs-button cs-quiet" type="button" onClick={() => onChange(noFilters)}>
            Clear
          </button>
        )}
      </div>
      <div id="filter-selects" className="filters-selects" hidden={!isOpen}>
        {selects.map(([name, label]) => (
          <div key={name} className="cs-field small">
            <label className="cs-label" htmlFor={`filter-${name}`}>
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
        <div className="cs-field small">
          <span className="cs-label" aria-hidden="true">
            Together
          </span>
          <Choose
            label="Together"
            value={arrangement.grouping}
            choices={groupings}
            onChange={arrangement.setGrouping}
          />
        </div>
      </div>
    </div>
  );
}

/** A choice without a label of its own on the page. */
function Choose<T extends string>(props: {
  label: string;
  value: T;
  choices: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}): ReactNode {
  const { label, value, choices, onChange } = props;
  const choose = (wanted: string): void => {
    const chosen = choices.find(([one]) => one === wanted);
    if (chosen !== undefined) onChange(chosen[0]);
  };
  return (
    <select className="choose" aria-label={label} value={value} onChange={(event) => choose(event.target.value)}>
      {choices.map(([one, words]) => (
        <option key={one} value={one}>
          {words}
        </option>
      ))}
    </select>
  );
}
