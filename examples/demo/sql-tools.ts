// A database: reads are free, everything else needs approval. SQLite itself tells which is which, not a pattern.
import { existsSync } from 'node:fs';
import { constants, DatabaseSync } from 'node:sqlite';
import { gateTool, type GateTool, type JsonValue } from '@countersign/worker-sdk';
import { z } from 'zod';

export function createSqlTools(file: string): readonly GateTool[] {
  createOrders(file);
  const executeSql = gateTool({
    name: 'execute_sql',
    description: 'Runs one SQL statement on the orders',
    inputSchema: z.strictObject({
      sql: z
        .string()
        .max(10_000)
        .refine((sql) => isOneStatement(file, sql), 'is not one SQL statement'),
    }),
    needsApproval: ({ sql }) => !isRead(file, sql),
    approvalPrompt: ({ sql }) => `Run on the orders: ${sql}`,
    // A call without approval runs on a connection that cannot write, even if the predicate is wrong.
    execute: ({ sql }, { approval }) => withDatabase(file, approval === null ? 'read' : 'write', (db) => run(db, sql)),
  });
  return [executeSql];
}

function createOrders(file: string): void {
  if (existsSync(file)) return;
  const db = new DatabaseSync(file);
  db.exec(`CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, cents INTEGER, status TEXT);
    INSERT INTO orders VALUES (1, 'Ada', 1200, 'paid'), (2, 'Grace', 990, 'paid'), (3, 'Alan', 5000, 'open');`);
  db.close();
}

const readActions: ReadonlySet<number> = new Set([
  constants.SQLITE_SELECT,
  constants.SQLITE_READ,
  constants.SQLITE_FUNCTION,
  constants.SQLITE_RECURSIVE,
]);

/** `look` compiles anything and runs nothing; `read` compiles only what reads. */
function withDatabase<T>(file: string, mode: 'look' | 'read' | 'write', work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(file, { readOnly: mode !== 'write', timeout: 2000 });
  try {
    if (mode === 'read') {
      db.setAuthorizer((action) => (readActions.has(action) ? constants.SQLITE_OK : constants.SQLITE_DENY));
    }
    return work(db);
  } finally {
    db.close();
  }
}

function isRead(file: string, sql: string): boolean {
  try {
    return withDatabase(file, 'read', (db) => db.prepare(sql).sourceSQL !== '');
  } catch {
    return false;
  }
}

/** SQLite compiles the first statement of several: the others would be approved and never run. */
function isOneStatement(file: string, sql: string): boolean {
  const bare = (text: string): string => text.trim().replace(/;$/, '').trimEnd();
  try {
    return withDatabase(file, 'look', (db) => bare(db.prepare(sql).sourceSQL) === bare(sql));
  } catch {
    return false;
  }
}

function run(db: DatabaseSync, sql: string): JsonValue {
  const statement = db.prepare(sql);
  if (statement.columns().length > 0) return statement.all().map((row) => ({ ...row })) as JsonValue;
  return { changed: Number(statement.run().changes) };
}
