import { Fragment, memo, useMemo } from 'react';
import type { ReactNode } from 'react';
import type { JsonObject, JsonValue } from '@countersign/contracts';
import type { HiddenPlace, Member } from '@countersign/text';
import { looksHidden, membersOf, writtenMaskNote, writtenMasks } from '@countersign/text';
import { textBlocksOf } from '../text/text-blocks.js';
import { Marked } from '../ui/marked.js';
import { DiffLines } from './diff-lines.js';
import { hasPaths, isInline, membersAt, shownName, tableOf } from './value-table.js';
import type { ValueTable } from './value-table.js';

/** The arguments of a call: the values, then every multi-line text as lines. Nothing is omitted or cut. */
export const Arguments = memo(function Arguments(props: {
  readonly value: JsonObject;
  /** Undefined: unknown, so no text is marked as the agent's. */
  readonly hiddenValues: readonly HiddenPlace[] | undefined;
  /** Stands beside a text that reads like a hidden value and is none. Default: the agent wrote it. */
  readonly note?: string;
}): ReactNode {
  const { value, hiddenValues, note = writtenMaskNote } = props;
  const { blocks, standIns } = useMemo(() => textBlocksOf(value), [value]);
  const written = useMemo(() => notedMasks(value, hiddenValues, note), [value, hiddenValues, note]);
  return (
    <div className="cs-arguments">
      {membersOf(value, '').length === 0 ? (
        <p className="cs-muted">No arguments.</p>
      ) : (
        <Members value={value} pointer="" depth={0} standIns={standIns} written={written} />
      )}
      {blocks.map((block, index) => (
        <figure key={index} className="cs-block">
          <figcaption>
            <code>
              <Marked text={block.title} />
            </code>
            {block.note !== '' && (
              <span className="cs-muted">
                {' '}
                <Marked text={block.note} />
              </span>
            )}
          </figcaption>
          <DiffLines lines={block.lines} kind={block.kind} />
        </figure>
      ))}
    </div>
  );
});

function notedMasks(
  value: JsonObject,
  hiddenValues: readonly HiddenPlace[] | undefined,
  note: string,
): ReadonlyMap<string, string> {
  const places = hiddenValues === undefined ? [] : writtenMasks(value, hiddenValues);
  return new Map(Array.from(places, (pointer) => [pointer, note]));
}

interface Shown {
  readonly standIns: ReadonlyMap<string, string>;
  /** The notes at the places of texts that read like hidden values and are none. */
  readonly written: ReadonlyMap<string, string>;
}

interface ValueProps extends Shown {
  readonly value: JsonValue;
  readonly pointer: string;
  /** How many values it is in. */
  readonly depth: number;
}

function Members({ value: whole, pointer: place, depth, standIns, written }: ValueProps): ReactNode {
  const isBelow = (pointer: string): boolean => standIns.has(pointer);
  const isNested = (value: JsonValue, pointer: string): boolean =>
    hasPaths(depth) || (membersOf(value, pointer).length > 0 && !isInline(value, pointer, isBelow));
  const nameOf = (name: string): ReactNode => {
    if (hasPaths(depth)) return <Marked text={name} isFull />;
    return Array.isArray(whole) ? <span className="cs-muted">{name}</span> : <Marked text={shownName(name)} isFull />;
  };
  return (
    <dl className="cs-members">
      {membersAt(depth, { value: whole, pointer: place, isBelow }).map(({ name, pointer, value }) => (
        <div key={pointer} className="cs-member" data-nested={isNested(value, pointer)}>
          <dt>{nameOf(name)}</dt>
          <dd>
            <Value value={value} pointer={pointer} depth={depth + 1} standIns={standIns} written={written} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A list of objects. It is as wide as the card, so that nothing is to its side. */
function Rows({ table: { columns, rows }, standIns, written }: { table: ValueTable } & Shown): ReactNode {
  return (
    <table className="cs-rows">
      <thead>
        <tr>
          <th scope="col" className="cs-muted">
            #
          </th>
          {columns.map((name) => (
            <th key={name} scope="col">
              <Marked text={shownName(name)} isFull />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells, index) => (
          <tr key={index}>
            <td className="cs-muted">{index}</td>
            {cells.map((cell, column) => (
              <td key={columns[column]}>
                {cell === undefined ? (
                  <span className="cs-muted" title="It has no such member">
                    —
                  </span>
                ) : (
                  <Value value={cell.value} pointer={cell.pointer} depth={0} standIns={standIns} written={written} />
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A short list. Its brackets tell it from a value alone. */
function Line({ members, standIns, written }: { members: readonly Member[] } & Shown): ReactNode {
  return (
    <>
      <span className="cs-muted">[</span>
      {members.map((member, index) => (
        <Fragment key={member.pointer}>
          {index > 0 && <span className="cs-muted">, </span>}
          <Value value={member.value} pointer={member.pointer} depth={0} standIns={standIns} written={written} />
        </Fragment>
      ))}
      <span className="cs-muted">]</span>
    </>
  );
}

function Value({ value, pointer, depth, standIns, written }: ValueProps): ReactNode {
  const standIn = standIns.get(pointer);
  if (standIn !== undefined) return <span className="cs-muted">{standIn}</span>;
  const members = membersOf(value, pointer);
  const isBelow = (place: string): boolean => standIns.has(place);
  const table = tableOf(value, pointer, isBelow);
  if (table !== undefined) return <Rows table={table} standIns={standIns} written={written} />;
  if (isInline(value, pointer, isBelow)) return <Line members={members} standIns={standIns} written={written} />;
  if (members.length > 0)
    return <Members value={value} pointer={pointer} depth={depth} standIns={standIns} written={written} />;
  if (typeof value !== 'string') return <span className="cs-value-plain">{JSON.stringify(value)}</span>;
  const note = written.get(pointer);
  return looksHidden(value) && note === undefined ? (
    <span className="cs-masked" title="A value that is hidden from you">
      {value}
    </span>
  ) : (
    <span className="cs-value-text">
      “<Marked text={value} isFull />”{note !== undefined && <em className="cs-muted"> {note}</em>}
    </span>
  );
}
