/** The part of a declaration that the kernel knows, with what is supplied. */
import type { VerticalManifest } from '@freehold/contracts';
import type { LongWork, Vertical } from '@freehold/kernel';
import type { OperationTable } from '@freehold/operations';
import { recordTypesOf } from '../records/records.ts';
import { rewriteWords } from '../records/rows.ts';
import { resealTable } from '../records/sealed.ts';
import type { AppDeclaration } from './app.ts';
import { completeManifest } from './supplied.ts';

/** @param supplied the operations that every application with models has. */
export function verticalOf(declaration: AppDeclaration, supplied: OperationTable): Vertical {
  const { migrations, on, executors, schedules, retention, chainMax, attachments } = declaration;
  const usesModels = declaration.models === true;
  const works = worksOf(declaration);
  return {
    manifest: isCompletable(declaration.manifest)
      ? completeManifest(declaration.manifest, usesModels)
      : declaration.manifest,
    migrations,
    operations: usesModels ? { ...declaration.operations, ...supplied } : declaration.operations,
    ...(on && { subscriptions: on }),
    ...(executors && { executors }),
    ...(schedules && { schedules }),
    ...(retention && { retention }),
    ...(Object.keys(works).length > 0 && { works }),
    ...(chainMax !== undefined && { chainMax }),
    ...(attachments?.requireRemovable && { requireRemovable: attachments.requireRemovable }),
    ...onShredOf(declaration),
    ...resealOf(declaration),
  };
}

/** Runs the erasure of the declaration, after which no word finds a person who is no longer in their record. */
function onShredOf({ operations, erasure }: AppDeclaration): Pick<Vertical, 'onShred'> {
  const onShred = erasure?.onShred;
  if (!onShred) return {};
  const shapes = recordTypesOf(operations).map(({ shape }) => shape);
  return {
    onShred: (ctx, subject) => {
      onShred(ctx, subject);
      for (const { id, table } of shapes)
        if (id.safeParse(subject).success) rewriteWords(ctx.sql, table, subject);
    },
  };
}

/** Seals the fields of records anew, and what the declaration does. */
function resealOf({ operations, erasure }: AppDeclaration): Pick<Vertical, 'reseal'> {
  const tables = recordTypesOf(operations)
    .map(({ table }) => table)
    .filter(({ fields }) => fields.some(({ isSealed }) => isSealed));
  const own = erasure?.reseal;
  if (tables.length === 0) return own ? { reseal: own } : {};
  return {
    reseal: (ctx) => {
      for (const table of tables) resealTable(ctx, table);
      own?.(ctx);
    },
  };
}

/** The declared long work, and that of the records whose operations start it. */
export function worksOf({
  operations,
  works = {},
}: {
  readonly operations: AppDeclaration['operations'];
  readonly works?: AppDeclaration['works'] | undefined;
}): Readonly<Record<string, LongWork>> {
  const ofRecords = recordTypesOf(operations).flatMap((records) => Object.entries(records.works));
  return { ...Object.fromEntries(ofRecords.filter(([kind]) => Object.hasOwn(operations, kind))), ...works };
}

/** Whether the roles of a manifest are what they should be; otherwise the check names what they are not. */
function isCompletable({ permissions, roles }: VerticalManifest): boolean {
  const isTable = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  return (
    isTable(permissions) &&
    isTable(roles) &&
    Object.values(roles).every((role) => Array.isArray(role?.permissions))
  );
}
