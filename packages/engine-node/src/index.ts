/** The embedded engine. Start with `engine.ts`. */
export type { ChangeOlder } from './archive/add-commit.ts';
export type { Archive } from './archive/archive.ts';
export { makeDirectoryArchive } from './archive/archive.ts';
export {
  type RestoreOptions,
  type RestoreReport,
  requireFinished,
  restoreDataDirectory,
} from './archive/restore-data-directory.ts';
export type { SealArchive } from './archive/ship-unit.ts';
export { giveUpUnit } from './archive/shipped-units.ts';
export type { ArchiveOptions, ArchiveStatus } from './archive/shipper.ts';
export { makeNodeBlobStore, type NodeBlobStoreOptions } from './blob-store.ts';
export { type NodeEngine, type NodeEngineOptions, openNodeEngine } from './engine.ts';
export { openNodeDatabase } from './lib/node-database.ts';
export { type FileBudget, fileBudgetOf, limitForUnits, openFilesLimit } from './lib/open-files.ts';
export { type StorageFault, storageFaultOf } from './lib/storage-faults.ts';
export { unitsIn } from './lib/unit-files.ts';
export { lockDirectory as lockDataDirectory } from './lock.ts';
export { makeMemoryBlobStore } from './memory/memory-blob-store.ts';
export { type MemoryEngine, type MemoryEngineOptions, openMemoryEngine } from './memory/memory-engine.ts';
export { load as loadTextCopy } from './processes/ndjson-load.ts';
export { type Recovered, type RecoverOptions, recoverUnit } from './recover-unit.ts';
export { type StorageStatus, UnreadableFile, type UnreadableUnit } from './units/storage-monitor.ts';
