/** Where the platform's memory meets its engines. Start with `unit.ts`, then `engine.ts`. */

export { type BlobSource, type HashedBlob, makeBlobHash, openBlob } from './blob-chunks.ts';
export * from './blob-store.ts';
export * from './engine.ts';
export * from './group.ts';
export * from './migrations.ts';
export * from './sealing.ts';
export * from './sql-database.ts';
export { StatementRefused } from './sql-tokens.ts';
export * from './statement-check.ts';
export * from './table.ts';
export * from './tools.ts';
export * from './unit.ts';
