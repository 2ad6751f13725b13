import type { CSSProperties, ReactNode } from 'react';

/** The names of the columns for a small screen, where each row is a card and each cell stands after its name. */
function namesOf(columns: readonly string[]): CSSProperties {
  return Object.fromEntries(columns.map((title, index) => [`--column-${String(index + 1)}`, JSON.stringify(title)]));
}

/** A table under its heads. */
export function Table(props: { columns: readonly string[]; isSmall?: boolean; children: ReactNode }): ReactNode {
  const { columns, isSmall = false, children } = props;
  return (
    <table className={isSmall ? 'table small' : 'table'} style={namesOf(columns)}>
      <thead>
        <tr>
          {columns.map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

/** A table in a scroll area that also scrolls by keyboard. */
export function ScrollTable(props: {
  label: string;
  columns: readonly string[];
  isPanel?: boolean;
  /** The text below the header when there is no row. */
  empty?: ReactNode;
  children: ReactNode;
}): ReactNode {
  const { label, columns, isPanel = false, empty, children } = props;
  return (
    <div className={isPanel ? 'table-scroll panel' : 'table-scroll'} tabIndex={0} role="region" aria-label={label}>
      <Table columns={columns}>{children}</Table>
      {empty}
    </div>
  );
}
