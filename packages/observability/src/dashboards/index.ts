import { costDashboard } from './cost.js';
import { latencyDashboard } from './latency.js';
import type { DashboardSpec } from './panels.js';
import { queuesDashboard } from './queues.js';
import { reliabilityDashboard } from './reliability.js';

export const dashboards: readonly DashboardSpec[] = [
  costDashboard,
  latencyDashboard,
  reliabilityDashboard,
  queuesDashboard,
];
