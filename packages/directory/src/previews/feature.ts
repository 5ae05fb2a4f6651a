/** The part of the directory's unit that knows the previews. */
import type { UnitContext } from '@freehold/store';
import type { HostDestination } from '../hostnames/store.ts';
import { defineFeature } from '../lib/feature.ts';
import { createPreview, endPreview, openPreview, readPreviews } from './operations.ts';
import {
  deletePreview,
  type PREVIEWS,
  type PreviewRow,
  previewAt,
  previewIds,
  previewMigrations,
  previewsBy,
  refOf,
} from './store.ts';

export type PreviewMethods = ReturnType<typeof previewMethods>;

const previewMethods = ({ db, now }: UnitContext) => ({
  /** Previews that have expired, and those of a scope, of a tenant or of its verticals. A query. */
  previewsToEnd: (which: { readonly [K in keyof typeof PREVIEWS]?: string | true }): readonly PreviewRow[] =>
    (Object.entries(which) as [keyof typeof PREVIEWS, string | true][]).flatMap(([name, value]) =>
      previewsBy(db, name, value === true ? now() : value),
    ),

  /** The preview is gone from the runtime. */
  previewErased: ({ preview }: { readonly preview: string }): null => {
    deletePreview(db, preview);
    return null;
  },

  previewIds: (): readonly string[] => previewIds(db),

  /** The way to the preview at a host name; null for none, and for one that has expired. A query. */
  previewRoute: (hostname: string): HostDestination | null => {
    const row = previewAt(db, hostname);
    if (!row || row.expiresAtMs <= now()) return null;
    const { tenant, scope, vertical } = row;
    // Its lines are told apart from those of the live version.
    const version = `${row.version}+preview`;
    const owner = db.get<{ status: string }>('SELECT status FROM tenants WHERE id = ?', tenant);
    return {
      ...{ hostname, surface: 'app', tenant, scope, vertical, version },
      serving: owner === undefined || owner.status === 'active',
      // Its cookies are of its host name alone.
      hostnames: [hostname],
      preview: refOf(row),
    };
  },
});

export const previewsFeature = /* @__PURE__ */ defineFeature({
  operations: [readPreviews, createPreview, openPreview, endPreview],
  migrations: [previewMigrations],
  methods: previewMethods,
  queries: ['previewsToEnd', 'previewIds', 'previewRoute'],
});
