import type { ReactNode } from 'react';
import { printable } from '@countersign/text';
import { outcomes } from '../history/outcomes.js';
import type { Outcome } from '../history/outcomes.js';
import type { Tally } from './statistics.js';

const width = 560;
const height = 180;
const floor = height - 22;

/** The names of the colours. */
export function Legend(): ReactNode {
  return (
    <ul className="legend">
      {outcomes.map((outcome) => (
        <li key={outcome}>
          <span className="swatch" data-outcome={outcome} aria-hidden="true" /> {outcome}
        </li>
      ))}
    </ul>
  );
}

/** Columns over time, split by outcome. The table next to it has the same numbers. */
export function Columns({ tallies, label }: { tallies: readonly Tally[]; label: string }): ReactNode {
  const most = Math.max(1, ...tallies.map(({ total }) => total));
  const step = width / tallies.length;
  return (
    <svg className="chart" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <line x1="0" x2={width} y1={floor} y2={floor} className="axis" />
      <text x="0" y="10" className="tick">
        {most}
      </text>
      {tallies.map((tally, index) => (
        <g key={tally.name} transform={`translate(${index * step} 0)`}>
          {stacked(tally, floor - 16, most).map(({ outcome, from, size }) => (
            <rect
              key={outcome}
              data-outcome={outcome}
              x={step * 0.15}
              width={step * 0.7}
              y={floor - from - size}
              height={size}
              rx="1.5"
            />
          ))}
          {index % Math.ceil(tallies.length / 7) === 0 && (
            <text x={step / 2} y={height - 6} className="tick" textAnchor="middle">
              {tally.name}
            </text>
          )}
        </g>
      ))}
    </svg>
  );
}

/** Plain columns: how many fell into each span. */
export function Histogram(props: { buckets: readonly { name: string; count: number }[]; label: string }): ReactNode {
  const { buckets, label } = props;
  const most = Math.max(1, ...buckets.map(({ count }) => count));
  const step = width / buckets.length;
  return (
    <svg className="chart" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <line x1="0" x2={width} y1={floor} y2={floor} className="axis" />
      {buckets.map(({ name, count }, index) => {
        const size = (count / most) * (floor - 20);
        return (
          <g key={name} transform={`translate(${index * step} 0)`}>
            <rect className="bar" x={step * 0.2} width={step * 0.6} y={floor - size} height={size} rx="2" />
            {count > 0 && (
              <text x={step / 2} y={floor - size - 5} className="tick" textAnchor="middle">
                {count}
              </text>
            )}
            <text x={step / 2} y={height - 6} className="tick" textAnchor="middle">
              {name}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

/** One bar per name, split by outcome. */
export function Bars({ tallies, label }: { tallies: readonly Tally[]; label: string }): ReactNode {
  const most = Math.max(1, ...tallies.map(({ total }) => total));
  const row = 30;
  const left = 170;
  return (
    <svg className="chart" viewBox={`0 0 ${width} ${Math.max(1, tallies.length) * row}`} role="img" aria-label={label}>
      {tallies.map((tally, index) => (
        <g key={tally.name} transform={`translate(0 ${index * row})`}>
          <text x={left - 10} y={row / 2 + 4} className="tick name" textAnchor="end">
            {printable(tally.name, 22)}
          </text>
          {stacked(tally, width - left - 44, most).map(({ outcome, from, size }) => (
            <rect key={outcome} data-outcome={outcome} x={left + from} width={size} y="6" height={row - 12} rx="2" />
          ))}
          <text x={left + (tally.total / most) * (width - left - 44) + 8} y={row / 2 + 4} className="tick">
            {tally.total}
          </text>
        </g>
      ))}
    </svg>
  );
}

interface Part {
  readonly outcome: Outcome;
  readonly from: number;
  readonly size: number;
}

function stacked(tally: Tally, length: number, most: number): readonly Part[] {
  let from = 0;
  return outcomes.flatMap((outcome) => {
    const size = (tally.counts[outcome] / most) * length;
    if (size === 0) return [];
    const part = { outcome, from, size };
    from += size;
    return [part];
  });
}
