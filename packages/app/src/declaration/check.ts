/**
 * The check of a declaration, whole and at once: its shape, then the rules of kernel and mount on all parts that have the
 * right shape. It opens nothing, and calls of the builder's functions only `entity` and `publicSurface.routes`.
 */
import { findVerticalFaults } from '@freehold/kernel';
import type { OperationTable } from '@freehold/operations';
import { type FaultPath, faultsIn, placeOf, schemaFaults } from '@freehold/operations/faults';
import type { AppDeclaration } from './app.ts';
import { checkOperations } from './check-operations.ts';
import {
  checkMigrations,
  checkModels,
  checkOwnPages,
  checkRecords,
  checkScheduleInputs,
  checkSurface,
} from './check-parts.ts';
import type { DeclarationCode, Fault } from './mistakes.ts';
import { declarationShape } from './shape.ts';
import { verticalOf } from './vertical-of.ts';

/**
 * Returns the mistakes of a declaration, in the order of its parts.
 * @param supplied the operations that every application with models has.
 */
export function findMistakes(declaration: AppDeclaration, supplied: OperationTable): readonly Fault[] {
  const inShape: readonly Fault[] = schemaFaults(declarationShape, declaration, []);
  const malformed = inShape.filter(({ code }) => code !== 'unknown_field').map(({ path }) => path);
  const isAbsent = (part: keyof AppDeclaration) =>
    malformed.some((path) => path.length === 0 || (path[0] === part && path.length === 1));
  if (isAbsent('manifest')) return inShape;
  const sound = soundParts(declaration, malformed);
  const vertical = verticalOf(sound, supplied);
  const inVertical: readonly Fault[] = findVerticalFaults(vertical);
  const others = faultsIn<DeclarationCode>((report) => {
    checkMigrations(sound, report);
    checkOperations(sound, report);
    // Names are compared with a manifest that has the right shape.
    if (inVertical.some(isOfManifestShape)) return;
    const names = { manifest: vertical.manifest, operations: vertical.operations, report };
    if (sound.models === true) checkModels(sound, supplied, names);
    checkScheduleInputs(sound, names);
    checkRecords(sound, names);
    checkOwnPages(sound, report);
    if (sound.publicSurface) checkSurface(sound.publicSurface, typeof sound.web === 'string', names);
  });
  const isReal = ({ code, unknown }: Fault) =>
    // A malformed operation is left out of the check, and is there all the same.
    code !== 'unknown_operation' || !Object.hasOwn(declaration.operations ?? {}, unknown?.name ?? '');
  return inOrder([...inShape, ...inVertical.map(asDeclared), ...others].filter(isReal));
}

function isOfManifestShape({ path, code }: Fault): boolean {
  return path[0] === 'manifest' && (code === 'missing_field' || code === 'wrong_type');
}

/** The declaration without its malformed parts: without an operation or a listener alone, or without a whole field. */
function soundParts(declaration: AppDeclaration, malformed: readonly FaultPath[]): AppDeclaration {
  const parts: Record<string, unknown> = { ...declaration };
  for (const [part, name] of malformed) {
    if (part === undefined) continue;
    const entries = parts[part];
    const isTable = ['operations', 'on', 'executors', 'schedules'].includes(String(part));
    if (isTable && name !== undefined && typeof entries === 'object') {
      const { [name]: _malformed, ...sound } = entries as Record<string, unknown>;
      parts[part] = sound;
    } else delete parts[part];
  }
  return { migrations: [], operations: {}, ...parts } as unknown as AppDeclaration;
}

/** The kernel calls subscriptions what a declaration has under `on`. */
function asDeclared(fault: Fault): Fault {
  const [part, ...rest] = fault.path;
  return part === 'subscriptions' ? { ...fault, path: ['on', ...rest] } : fault;
}

/** In the order of the declaration's parts; a mistake that two checks found counts once. */
function inOrder(faults: readonly Fault[]): Fault[] {
  const parts = Object.keys(declarationShape.shape);
  const rank = ({ path }: Fault) => parts.indexOf(String(path[0]));
  const found = new Map(faults.map((fault) => [`${fault.code} ${placeOf(fault.path)}`, fault]));
  return [...found.values()].sort((a, b) => rank(a) - rank(b));
}
