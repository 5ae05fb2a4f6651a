/** What the directory's unit has of verticals, their versions and channels. */
import { defineFeature } from '../lib/feature.ts';
import { planPromotion, promoteVersion, readChannels } from './channels.ts';
import { deployVersion } from './deploy.ts';
import { deleteInstallBlock, putInstallBlock, readInstallBlock } from './install-blocks.ts';
import { readInstances } from './instances.ts';
import { putListing, readListing, requestPublish } from './listing.ts';
import { createVertical, readVertical, readVerticals, updateVerticalName } from './operations.ts';
import { registryMigrations } from './schema.ts';
import { readScopeVersion } from './scope-version.ts';
import { registryMethods } from './unit-methods.ts';
import { admitVersion, readVersion, readVersions, registerVersion, rejectVersion } from './versions.ts';

export const verticalRegistryFeature = defineFeature({
  reads: {
    'scope-version.get': readScopeVersion,
    'verticals.list': readVerticals,
    'verticals.get': readVertical,
    'verticals.instances': readInstances,
    'vertical-versions.list': readVersions,
    'vertical-versions.get': readVersion,
    'channels.list': readChannels,
    'listings.get': readListing,
    'install-blocks.get': readInstallBlock,
  },
  changes: {
    'verticals.create': createVertical,
    'verticals.update': updateVerticalName,
    'vertical-versions.register': registerVersion,
    'vertical-versions.admit': admitVersion,
    'vertical-versions.reject': rejectVersion,
    'listings.put': putListing,
    'listings.request-publish': requestPublish,
    'install-blocks.put': putInstallBlock,
    'install-blocks.delete': deleteInstallBlock,
  },
  delegated: {
    'channels.promote': promoteVersion,
    'verticals.deploy': deployVersion,
  },
  plans: { 'channels.promote': planPromotion },
  migrations: [registryMigrations],
  methods: registryMethods,
  queries: [
    'registryVertical',
    'registeredVertical',
    'deployedVersions',
    'plannedBinding',
    'versionedRoute',
    'versionedRoutes',
    'servingVersion',
  ],
});
