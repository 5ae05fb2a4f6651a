/** Conditions that recognise effects: rows or files that exist or are gone. */
import { type Condition, PLACE } from './protocol.ts';

/** Stands for the id of the request of the call; the id of a repeated call ends in `-again`. */
export const THIS_REQUEST = '$request';

/** Long work that this call began, or the same call made again, was done. It takes {@link THIS_REQUEST} twice. */
export const CARRIED_OUT = `operations WHERE state = 'done' AND request IN (?, ? || '-again')`;

type Params = readonly (string | number)[];

/** The directory has such a row: `tenants WHERE id = ?`. */
export function row(rest: string, ...params: Params): Condition {
  return rowIn('directory/main', rest, ...params);
}

/** The directory has no such row. */
export function noRow(rest: string, ...params: Params): Condition {
  return { ...row(rest, ...params), not: true };
}

/** The unit has such a row. */
export function rowIn(unit: string, rest: string, ...params: Params): Condition {
  return { unit, sql: `SELECT 1 FROM ${rest} LIMIT 1`, params };
}

/** The unit has no such row. */
export function noRowIn(unit: string, rest: string, ...params: Params): Condition {
  return { ...rowIn(unit, rest, ...params), not: true };
}

/** The unit has no database. */
export function noUnit(unit: string): Condition {
  return { file: `${PLACE.data}/${unit}.sqlite`, not: true };
}

/** No file exists at this address of the place for backups. */
export function noBackupFile(address: string): Condition {
  return { file: `${PLACE.backups}/${address}`, not: true };
}

/** The runtime received the call. */
export function runtimeFile(name: string): Condition {
  return { file: `${PLACE.runtime}/${name}` };
}
