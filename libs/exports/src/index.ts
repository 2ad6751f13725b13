export { cellsOf, eventColumns } from './columns.js';
export type { Cell, Column, ColumnType } from './columns.js';
export { csvHeader, csvLine, csvOf, toCsv } from './csv.js';
export { linesOf } from './pages.js';
export type { EventPages } from './pages.js';
export { createParquetTable, parquetOf } from './parquet.js';
export type { ParquetTable } from './parquet.js';
export { createZip } from './zip.js';
export type { ZipEntry } from './zip.js';
