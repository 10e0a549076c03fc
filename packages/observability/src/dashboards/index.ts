import { costDashboard } from './cost.js';
import { latencyDashboard } from './latency.js';
import { overviewDashboard } from './overview.js';
import type { DashboardSpec } from './panels.js';
import { queuesDashboard } from './queues.js';
import { reliabilityDashboard } from './reliability.js';

export const dashboards: readonly DashboardSpec[] = [
  overviewDashboard,
  costDashboard,
  latencyDashboard,
  reliabilityDashboard,
  queuesDashboard,
];
