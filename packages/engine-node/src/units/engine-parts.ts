/** The parts that the components of the engine share: the directory, the clock, and the workers. */
import type { IncidentSink, UnitDefinition, UnitMethods } from '@freehold/store';
import type { HistoryLimits } from '../history/retention.ts';
import type { HistoryDisk } from '../lib/durable-file.ts';
import type { UnitFiles } from '../lib/unit-files.ts';
import type { CopyWorkers } from '../processes/copy-workers.ts';
import type { StorageMonitor } from './storage-monitor.ts';
import type { Swaps } from './swap.ts';

// biome-ignore lint/suspicious/noExplicitAny: the engine moves the calls of every kind of unit; each types its own.
export type AnyUnit = UnitDefinition<any>;

export interface EngineParts {
  readonly dataDirectory: string;
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  readonly onIncident: IncidentSink;
  readonly workers: CopyWorkers;
  readonly swaps: Swaps;
  readonly disk: HistoryDisk;
  /** Notes the faults of writes and of unreadable files. */
  readonly storage: StorageMonitor;
  /** Above this many frames the log of a unit with a history is emptied. */
  readonly logFramesMax: number;
  /** Returns the limits of a kind's history; null for none. */
  historyOf(definition: AnyUnit): HistoryLimits | null;
  /**
   * Called for every commit of a unit that is archived or has history, and for new files of its history. Must cost
   * next to nothing.
   */
  readonly onChange: (files: UnitFiles) => void;
  /** Whether the archive has a copy of a unit from here. */
  readonly wasShipped: (files: UnitFiles) => boolean;
  /** Called for a unit that is about to be removed. */
  readonly onRemove: (files: UnitFiles) => void;
  /** Called for a damaged derived unit that is made anew. */
  readonly onRenew: (files: UnitFiles) => void;
}

export function isWithoutCopies<M extends UnitMethods>(definition: UnitDefinition<M>): boolean {
  return definition.copies !== undefined && definition.copies !== 'full';
}

/** Whether a lost unit is simply made anew, so that there is no archive of it. */
export function isDerived<M extends UnitMethods>(definition: UnitDefinition<M>): boolean {
  return definition.copies === 'derived';
}
