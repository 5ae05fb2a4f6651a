/** The alerts of a start, put together: what is looked at, and where the operator is told. */
import type { Degradation } from '@freehold/control-plane';
import type { ControlPlaneClient } from '@freehold/control-plane/client';
import { Alerts, loadAlertState } from '../alerts/alerts.ts';
import { openChannels, platformName } from '../alerts/channels.ts';
import { Conditions } from '../alerts/conditions.ts';
import type { AlertJobs } from '../jobs/jobs.ts';
import type { Settings } from '../settings/settings.ts';
import type { Core } from './core.ts';

export interface AlertsOfStart {
  readonly settings: Settings;
  readonly core: Core;
  readonly degraded: () => readonly Degradation[];
  readonly client: Pick<ControlPlaneClient, 'adminLog'>;
}

/** Returns null where the settings name no place for alerts. */
export function openAlerts({ settings, core, degraded, client }: AlertsOfStart): AlertJobs | null {
  const { dataDirectory, archive, backupsDirectory, backupPolicy } = settings;
  const { storage, world, feeds, mail } = core;
  const channels = openChannels(settings.alerts, mail.mailer);
  if (channels.length === 0) return null;
  const state = loadAlertState(dataDirectory);
  const conditions = new Conditions({
    archive: storage,
    blobArchive: storage.blobArchive,
    degraded,
    verify: () => client.adminLog.verify(),
    disks: [
      { name: 'data', path: dataDirectory },
      ...(archive?.kind === 'directory' ? [{ name: 'archive', path: archive.path }] : []),
      ...(backupsDirectory === undefined ? [] : [{ name: 'backups', path: backupsDirectory }]),
    ],
    memory: state.memory,
    backupEveryMs: backupPolicy?.everyMs ?? 0,
    now: world.now,
  });
  const alerts = new Alerts({
    platform: platformName(settings),
    dataDirectory,
    channels,
    state,
    observe: () => conditions.observe(),
    memory: conditions.memory,
    now: world.now,
    onFailure: feeds.onFailure,
  });
  return {
    run: () => alerts.run(),
    verify: () => conditions.verify(),
    onBackup: (line) => conditions.onBackup(line),
  };
}
