! Two ranks that call MPI from Fortran, for the tests of `assay variance record`.
program ranks
  use mpi
  implicit none
  integer :: rank, error, request, status(MPI_STATUS_SIZE), data(100), total

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  data = rank
  if (rank == 1) then
    call MPI_Send(data, 100, MPI_INTEGER, 0, 77, MPI_COMM_WORLD, error)
  else
    call MPI_Irecv(data, 100, MPI_INTEGER, 1, 77, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, status, error)
    if (data(100) /= 1) stop 1
  end if
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (total /= 1) stop 2
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
  print *, 'rank ended'
end program ranks
