import { useState } from 'react';
import type { ReactNode } from 'react';
import { problemOf, problemWords } from '@countersign/react/parts';
import { firstPage, readLogFile } from '../api/audit.js';
import type { LogFile, LogFormat } from '../api/audit.js';
import { requestOf, searchOf } from './search.js';

const formats: readonly (readonly [LogFormat, string])[] = [
  ['ndjson', 'NDJSON'],
  ['csv', 'CSV'],
  ['parquet', 'Parquet'],
  ['ocsf', 'OCSF'],
];
/** Pages of 10,000 events. A browser is not the place for more. */
const [pageSize, pagesMax] = ['10000', 50];

/** Downloads all events of the search in a format, with hidden values as they are shown. */
export function Downloads({ query, isClear }: { query: string; isClear: boolean }): ReactNode {
  const [status, setStatus] = useState('');
  const [isBusy, setBusy] = useState(false);
  const start = (format: LogFormat): void => {
    setBusy(true);
    setStatus('Preparing the download …');
    download(query, format, isClear)
      .then(setStatus, (error: unknown) => setStatus(problemWords(problemOf(error), Date.now())))
      .finally(() => setBusy(false));
  };
  return (
    <>
      <span className="cs-label" id="audit-downloads">
        Download all{isClear && ', with clear values'}
      </span>
      <span className="cs-actions" role="group" aria-labelledby="audit-downloads">
        {formats.map(([format, name]) => (
          <button key={format} className="cs-button" type="button" disabled={isBusy} onClick={() => start(format)}>
            {name}
          </button>
        ))}
      </span>
      <span className="cs-muted" role="status">
        {status}
      </span>
    </>
  );
}

async function download(query: string, format: LogFormat, isClear: boolean): Promise<string> {
  const request = requestOf(searchOf(query));
  request.set('format', format);
  request.set('limit', pageSize);
  if (isClear) request.set('values', 'clear');
  const { parts, isWhole } = await readParts(firstPage(request), format === 'csv');
  // Parquet files cannot be put together by their bytes.
  const files = format === 'parquet' ? parts : [new Blob(parts)];
  const ending = format === 'ocsf' ? 'ocsf.ndjson' : format;
  const name = `countersign-log-${new Date().toISOString().slice(0, 10)}`;
  for (const [index, file] of files.entries()) {
    save(file, `${name}${files.length > 1 ? `-${String(index + 1)}` : ''}.${ending}`);
  }
  if (!isWhole) return 'The file has the first part alone. countersign audit log -o FILE writes all.';
  return files.length > 1 ? `Saved as ${String(files.length)} files.` : 'Saved.';
}

async function readParts(first: string, isTable: boolean) {
  const parts: Blob[] = [];
  let next: string | undefined = first;
  while (next !== undefined && parts.length < pagesMax) {
    const { body, next: following }: LogFile = await readLogFile(next);
    parts.push(isTable && parts.length > 0 ? await withoutHeader(body) : body);
    next = following;
  }
  return { parts, isWhole: next === undefined };
}

/** The header has no line break within it. */
async function withoutHeader(table: Blob): Promise<Blob> {
  const text = await table.text();
  return new Blob([text.slice(text.indexOf('\n') + 1)]);
}

function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
