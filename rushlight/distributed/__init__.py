"""Training over several processes: not there, and ``is_available()`` says so."""

from __future__ import annotations

from rushlight import _absent

__all__ = ["is_available", "is_initialized"]


def is_available() -> bool:
    """False: programs that ask first go on alone."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_torchelastic_launched() -> bool:
    """False."""
    return False


def get_rank(group=None) -> int:
    """Raises ValueError: there is no process group."""
    raise ValueError(
        "Default process group has not been initialized, please call init_process_group."
    )


get_world_size = get_rank


def is_nccl_available() -> bool:
    """False."""
    return False


is_gloo_available = is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """False."""
    return False


_REASON = (
    "rushlight runs in one process. Guard the call with torch.distributed.is_available(), which is "
    "False."
)
_refused = _absent.names(
    "distributed", _REASON,
    "Backend DeviceMesh DistBackendError DistError DistNetworkError DistStoreError FileStore "
    "GradBucket GroupMember HashStore P2POp PrefixStore ProcessGroup ProcessGroupGloo ReduceOp "
    "Store TCPStore Work all_gather all_gather_coalesced all_gather_into_tensor all_gather_object "
    "all_reduce all_reduce_coalesced all_to_all all_to_all_single barrier batch_isend_irecv "
    "broadcast broadcast_object_list destroy_process_group gather gather_object get_backend "
    "get_backend_config get_global_rank get_group_rank get_node_local_rank "
    "get_process_group_ranks init_device_mesh init_process_group irecv isend monitored_barrier "
    "new_group new_subgroups recv recv_object_list reduce reduce_scatter reduce_scatter_tensor "
    "scatter scatter_object_list send send_object_list split_group",
)  # fmt: skip


def __getattr__(name: str):
    if name in ("ReduceOp", "group", "GroupMember"):  # their members are mentioned in defaults
        members = dict.fromkeys("AVG BAND BOR BXOR MAX MIN PRODUCT SUM WORLD".split())
        value = type(name, (), {"__module__": "torch.distributed", **members})
        globals()[name] = value
        return value
    return _refused(name)


for _name, _known in {
    "_composable": "",
    "_composable.fsdp": "CPUOffloadPolicy FSDPModule MixedPrecisionPolicy OffloadPolicy "
    "fully_shard",
    "_functional_collectives": "AsyncCollectiveTensor all_gather_tensor all_reduce",
    "_shard": "",
    "_shard.sharded_tensor": "Shard ShardedTensor",
    "_tensor": "DTensor DeviceMesh Replicate Shard distribute_tensor",
    "algorithms": "",
    "algorithms._checkpoint": "",
    "algorithms._checkpoint.checkpoint_wrapper": "CheckpointImpl CheckpointWrapper OffloadWrapper "
    "apply_activation_checkpointing checkpoint_wrapper offload_wrapper",
    "algorithms.ddp_comm_hooks": "",
    "algorithms.ddp_comm_hooks.default_hooks": "allreduce_hook bf16_compress_hook "
    "fp16_compress_hook",
    "algorithms.join": "Join JoinHook Joinable",
    "algorithms.model_averaging": "",
    "algorithms.model_averaging.averagers": "ModelAverager PeriodicModelAverager",
    "autograd": "backward context",
    "checkpoint": "DefaultLoadPlanner DefaultSavePlanner FileSystemReader FileSystemWriter "
    "LoadPlanner SavePlanner StorageReader StorageWriter async_save load load_state_dict save "
    "save_state_dict",
    "checkpoint.default_planner": "DefaultLoadPlanner DefaultSavePlanner",
    "checkpoint.format_utils": "dcp_to_torch_save torch_save_to_dcp",
    "checkpoint.optimizer": "load_sharded_optimizer_state_dict",
    "checkpoint.state_dict": "StateDictOptions get_model_state_dict get_optimizer_state_dict "
    "get_state_dict set_model_state_dict set_optimizer_state_dict set_state_dict",
    "checkpoint.stateful": "Stateful",
    "device_mesh": "DeviceMesh init_device_mesh",
    "distributed_c10d": "Backend ProcessGroup ReduceOp all_reduce get_rank get_world_size",
    "elastic": "",
    "elastic.multiprocessing": "",
    "elastic.multiprocessing.errors": "ChildFailedError record",
    "fsdp": "BackwardPrefetch CPUOffload CPUOffloadPolicy FSDPModule FullOptimStateDictConfig "
    "FullStateDictConfig FullyShardedDataParallel LocalStateDictConfig MixedPrecision "
    "MixedPrecisionPolicy OffloadPolicy OptimStateDictConfig ShardedOptimStateDictConfig "
    "ShardedStateDictConfig ShardingStrategy StateDictConfig StateDictType fully_shard "
    "register_fsdp_forward_method",
    "fsdp.api": "ShardingStrategy StateDictType",
    "fsdp.fully_sharded_data_parallel": "BackwardPrefetch CPUOffload FullyShardedDataParallel "
    "MixedPrecision ShardingStrategy StateDictType",
    "fsdp.sharded_grad_scaler": "ShardedGradScaler",
    "fsdp.wrap": "CustomPolicy ModuleWrapPolicy enable_wrap lambda_auto_wrap_policy "
    "size_based_auto_wrap_policy transformer_auto_wrap_policy wrap",
    "launcher": "",
    "launcher.api": "LaunchConfig elastic_launch",
    "nn": "RemoteModule all_gather all_reduce",
    "nn.functional": "all_gather all_reduce all_to_all broadcast gather reduce_scatter scatter",
    "nn.jit": "",
    "optim": "DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer",
    "pipelining": "PipelineStage Schedule1F1B ScheduleGPipe SplitPoint pipeline",
    "rpc": "RRef TensorPipeRpcBackendOptions init_rpc remote rpc_async rpc_sync shutdown",
    "run": "main",
    "tensor": "DTensor DeviceMesh Partial Placement Replicate Shard distribute_module "
    "distribute_tensor empty full ones zeros",
    "tensor.device_mesh": "DeviceMesh init_device_mesh",
    "tensor.experimental": "context_parallel implicit_replication",
    "tensor.parallel": "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleOutput "
    "RowwiseParallel SequenceParallel loss_parallel parallelize_module",
    "tensor.placement_types": "Partial Placement Replicate Shard",
    "utils": "",
}.items():
    _absent.submodule(f"distributed.{_name}", _REASON, _known)
